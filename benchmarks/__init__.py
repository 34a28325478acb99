"""Benchmark programs, and packages with the code that they share."""
