"""A second query that copies a result topic into a Parquet or Delta table with one row per result."""
