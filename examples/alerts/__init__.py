"""Small operational jobs between Kafka topics, one file per job, and a program that sends the alerts by e-mail."""
