"""Tests of benchmarks/spark."""
