"""The latency of the execution modes, of the baseline, and of two copies of a query."""
