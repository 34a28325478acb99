"""Tests of benchmarks/probes."""
