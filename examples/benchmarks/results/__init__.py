"""Turn the raw times of benchmark runs into percentiles, verdicts, tables and charts."""
