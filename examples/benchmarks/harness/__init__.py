"""Run benchmarks: engines, load, verification and command-line options."""
