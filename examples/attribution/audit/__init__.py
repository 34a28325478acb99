"""Audit a run: read its records from Kafka, recompute all results in plain Python, and compare both sets of results."""
