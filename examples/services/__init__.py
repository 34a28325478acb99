"""
Run real servers on this machine for the examples and tests, without containers.

`python -m examples.services` starts a Kafka broker and a PostgreSQL server. Importing this package starts nothing.
"""

from examples.services.files.run_folder import jvm_folder, new_folder, run_folder
from examples.services.java import java_home
from examples.services.kafka import LocalKafka, kafka_broker
from examples.services.local_server import running
from examples.services.packages import Connector, avro_jars, broker_jars, connector
from examples.services.postgres import LocalPostgres, postgres_server

__all__ = [
    "Connector",
    "LocalKafka",
    "LocalPostgres",
    "avro_jars",
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
