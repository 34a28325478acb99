"""Tests of benchmarks/latency."""
