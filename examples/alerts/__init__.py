"""Small operational jobs from Kafka to Kafka, one file per job. Their rows are not processed by Python code."""
