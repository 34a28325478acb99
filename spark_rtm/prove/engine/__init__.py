"""Start Kafka and Spark for the checks, in this process or in a separate process that a check kills."""
