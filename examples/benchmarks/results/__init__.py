"""Turn the raw times of benchmark runs into percentiles, validity checks, tables and charts."""
