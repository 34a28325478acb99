"""
Run real servers on this machine for the examples and tests, without containers.

`python -m spark_rtm.services` starts a Kafka broker and a PostgreSQL server. Importing this package starts no server.
"""

from spark_rtm import require

require("services", "testing", "confluent_kafka", "psycopg")

from spark_rtm.services.child import running
from spark_rtm.services.folders import jvm_folder, new_folder, run_folder
from spark_rtm.services.java import java_home
from spark_rtm.services.kafka import LocalKafka, kafka_broker
from spark_rtm.services.packages import broker_jars, connector
from spark_rtm.services.postgres import LocalPostgres, postgres_server

__all__ = [
    "LocalKafka",
    "LocalPostgres",
    "broker_jars",
    "connector",
    "java_home",
    "jvm_folder",
    "kafka_broker",
    "new_folder",
    "postgres_server",
    "run_folder",
    "running",
]
