"""Small operational jobs, one file each, from Kafka to Kafka without Python on the data path."""
