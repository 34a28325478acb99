"""Abstract values of PySpark expressions: streams, columns, writers, queries."""
