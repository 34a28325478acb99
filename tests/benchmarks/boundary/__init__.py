"""Tests of benchmarks/boundary."""
