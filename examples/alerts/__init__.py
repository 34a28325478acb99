"""
Operational jobs, one file each: payments, personal data in logs, device alarms.

Records of a Kafka topic arrive; alerts, and whatever could not be read, leave for Kafka topics.
Real-time mode carries all three without Python on the data path.
"""
