"""Return the settings that a job reads, and record the settings that the job changes."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.conf import RuntimeConfig

from spark_rtm.prove.job.recorders import Caught, Recording
from spark_rtm.testing.trial import BLOCK, SINK

# Catalog setting of packages such as Delta. If the package is missing, every table reference fails.
CATALOG = "spark.sql.catalog.spark_catalog"
# Pattern for settings of the user's catalogs, whose tables a job could change.
CATALOGS = re.compile(r"spark\.sql\.(catalog\.|defaultCatalog$)")
FLAG = "spark.databricks.streaming.realTimeMode.enabled"
SHUFFLES = "spark.sql.shuffle.partitions"
DEFAULT_SHUFFLES = "200"
# Sink options that `rtm prove` keeps. It replaces the job's servers, login and topic.
CLIENT = ("acks", "batch.size", "buffer.memory", "compression.type", "delivery.timeout.ms", "enable.idempotence",
          "linger.ms", "max.block.ms", "max.request.size", "request.timeout.ms", "retries")  # fmt: skip


def apply(recording: Recording, confs: Mapping[str, str]) -> SparkSession:
    """Return the `rtm prove` session with those of the job's settings that a running session accepts."""
    session = recording.spark
    for name, value in confs.items():
        if name == CATALOG or (CATALOGS.match(name) and not recording.job.side_effects):
            continue
        with contextlib.suppress(PySparkException):
            session.conf.set(name, value)
    return session


@contextlib.contextmanager
def own_shuffles(recording: Recording) -> Iterator[None]:
    """Record the job's number of shuffle partitions, and restore the number that `rtm prove` uses."""
    conf, confs = recording.spark.conf, recording.job.confs
    before = str(conf.get(SHUFFLES))
    if SHUFFLES not in confs:
        conf.unset(SHUFFLES)
    try:
        yield
    finally:
        recording.shuffles = conf.getAll.get(SHUFFLES, DEFAULT_SHUFFLES)
        recording.has_own_shuffles = SHUFFLES in conf.getAll
        conf.set(SHUFFLES, before)


def sink_options(caught: Caught) -> Mapping[str, str]:
    """Return the client options of a job's Kafka sink, or the default options for another sink."""
    if not caught.is_to_kafka:
        return SINK
    own = {name.lower(): value for name, value in caught.options.items()}
    return {BLOCK: SINK[BLOCK], **{name: own[name] for name in (f"kafka.{part}" for part in CLIENT) if name in own}}


def conf_of(recording: Recording, get: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `spark.conf.get` that also returns the job's settings and Databricks settings."""

    def read(conf: RuntimeConfig, key: str, *default: Any) -> Any:
        if key in recording.job.confs:
            return recording.job.confs[key]
        try:
            return get(conf, key, *default)
        except PySparkException:
            if key.startswith(("spark.databricks.", "pipelines.")):
                return f"prove-{key.rpartition('.')[2]}"
            raise

    return lambda conf, key, *default, **named: read(conf, key, *default, *named.values())


def flag_of(get: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `SparkConf.get` that behaves like a cluster with the real-time mode flag."""
    return lambda conf, key, *default, **named: "true" if key == FLAG else get(conf, key, *default, **named)
