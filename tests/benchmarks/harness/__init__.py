"""Tests of benchmarks/harness."""
