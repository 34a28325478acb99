"""Short benchmarks of one question each, such as the latency of a join or the duration of a stop."""
