"""Measurements of the PostgreSQL sink: flushes, a single row, and paths from Kafka to the table."""
