"""Measurements of the PostgreSQL sink: a single row, and paths from Kafka to the table."""
