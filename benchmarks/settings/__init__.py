"""The effect of one setting at a time on latency and CPU time."""
