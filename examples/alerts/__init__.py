"""Small operational jobs from Kafka to Kafka, one file each. No Python code processes their rows."""
