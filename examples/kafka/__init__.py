"""Kafka clients without Spark: settings, topics, and reading a topic to its end."""
