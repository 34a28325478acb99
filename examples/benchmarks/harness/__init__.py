"""Run benchmarks: command-line options, engines, load, verification."""
