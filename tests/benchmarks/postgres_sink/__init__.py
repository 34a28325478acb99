"""Tests of benchmarks/postgres_sink."""
