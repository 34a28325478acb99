"""Tests of benchmarks/other_engines."""
