"""Audit a run: read all records from Kafka, replay the rules on the source records, and compare the results."""
