"""Spark as a benchmarked engine: its processes, its queries, and the variants to compare."""
