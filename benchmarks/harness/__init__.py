"""Run benchmarks: command-line options, engines, load generator and verification."""
