"""What the benchmark of the PostgreSQL sink measures: flushes, write methods and paths from Kafka."""
