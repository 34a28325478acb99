"""Start the Kafka broker and Spark for the checks, in this process or in one that a check kills."""
