"""Tests of benchmarks/settings."""
