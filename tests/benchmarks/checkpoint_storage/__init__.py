"""Tests of benchmarks/checkpoint_storage."""
