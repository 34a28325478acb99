"""Small operational jobs from Kafka to Kafka, one file per job. No Python code processes their rows."""
