"""Percentiles and CPU time measurement for the demonstration and the benchmarks."""
