"""Tests of benchmarks/results."""
