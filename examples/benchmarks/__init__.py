"""Benchmarks: one program per module, and the packages that they share."""
