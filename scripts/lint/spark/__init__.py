"""The values that PySpark expressions stand for: streams, columns, writers, queries."""
