"""Kafka clients that do not use Spark: create topics, and read topics to their ends."""
