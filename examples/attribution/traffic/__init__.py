"""Seeded ad traffic: generate it, send it to Kafka, and set goals for its campaigns."""
