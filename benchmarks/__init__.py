"""Benchmarks. Each module is one program; the packages contain the code shared by the programs."""
