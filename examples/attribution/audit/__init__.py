"""Audit a run: read every record back from Kafka, replay the rules on the source records, and compare the results."""
