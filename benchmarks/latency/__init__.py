"""The latency of the execution modes, the baseline, and two copies of a query."""
