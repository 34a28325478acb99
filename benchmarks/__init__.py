"""Benchmarks, one module per program, and packages with shared code."""
