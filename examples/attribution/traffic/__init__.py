"""Generate seeded ad traffic, send it to Kafka, and set goals for the campaigns."""
