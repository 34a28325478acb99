"""Generate seeded ad traffic, and send it to Kafka."""
