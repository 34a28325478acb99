"""
Operational jobs, one file each: payments, personal data in logs, device alarms, silent devices.

Records of a Kafka topic arrive; alerts, and whatever could not be read, leave for Kafka topics.
Real-time mode carries all of them without Python on the data path.
"""
