"""Benchmarks: one module per program, and the packages that the programs share."""
