"""Represent PySpark expressions as abstract values: streams, columns, writers and queries."""
