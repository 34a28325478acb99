"""Run a user's query in real-time mode against a Kafka broker, and report what breaks."""
