"""Spark as a benchmarked engine: its process, its queries and the variants that are compared."""
