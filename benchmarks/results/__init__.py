"""Convert raw timestamps of benchmark runs into percentiles, validity checks, tables and charts."""
