"""Spark as a benchmarked engine: its processes, its queries and its variants."""
