"""Percentiles and CPU time, shared by the demonstration and the benchmarks."""
