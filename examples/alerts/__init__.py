"""Small operational jobs from Kafka to Kafka, one file per job, and a program that sends their alerts by e-mail."""
