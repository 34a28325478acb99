"""
Real servers for the examples and tests, on this machine and without containers.

Nothing arrives; a Kafka broker, a PostgreSQL server, a Spark cluster and the jars they need leave.
Real-time mode is only worth showing on the real thing; importing this package starts nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from examples.services.child import running
    from examples.services.cluster import standalone_cluster
    from examples.services.java import java_home
    from examples.services.kafka import LocalKafka, kafka_broker
    from examples.services.packages import Connector, broker_jars, connector
    from examples.services.postgres import LocalPostgres, postgres_server

__all__ = [
    "Connector",
    "LocalKafka",
    "LocalPostgres",
    "broker_jars",
    "connector",
    "java_home",
    "kafka_broker",
    "postgres_server",
    "running",
    "standalone_cluster",
]

MODULES = ("child", "java", "packages", "kafka", "postgres", "cluster")


def __getattr__(name: str) -> object:
    """Import on first use: `python -m examples.services.packages` must not find its own module imported already."""
    if name in __all__:
        for module in MODULES:
            found = getattr(import_module(f"{__name__}.{module}"), name, None)
            if found is not None:
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
