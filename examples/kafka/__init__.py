"""Create Kafka topics, and read topics to the end, without Spark."""
