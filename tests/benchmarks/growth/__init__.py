"""Tests of the benchmark of growth."""
