"""Spark and the Kafka clients know each setting of the price benchmark, and each change has an effect."""

from dataclasses import asdict, replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from benchmarks.settings.price_variants import CHANGES, ROCKSDB, SHORT_BOUNDARY, Change, changed, short_boundary
from benchmarks.spark.idle_rules import EXCLUDED_CONF
from benchmarks.spark.queries import SparkOptions
from benchmarks.spark.variants import recommended

ALL = {name: change for named in CHANGES.values() for name, change in named.items()}
CHANGED = [*ALL.values(), Change(SHORT_BOUNDARY)]
SPARK_SETTINGS = sorted({key for change in CHANGED for key in change.confs if not key.startswith(ROCKSDB)})
ROCKSDB_SETTINGS = {key: value for change in CHANGED for key, value in change.confs.items() if key.startswith(ROCKSDB)}
BASE = recommended(15)


def jvm(spark: SparkSession) -> Any:
    """Return the JVM of a session."""
    return spark._jvm  # noqa: SLF001 - there is no public API


def knows(spark: SparkSession, setting: str) -> bool:
    """Return whether Spark defines a setting of the session or of the context."""
    return jvm(spark).org.apache.spark.internal.config.ConfigEntry.findEntry(setting) is not None


def rocksdb_settings(spark: SparkSession) -> str:
    """Return all values that the state store reads from the session."""
    state = jvm(spark).org.apache.spark.sql.execution.streaming.state
    conf = spark._jsparkSession.sessionState().conf()  # noqa: SLF001 - there is no public API
    # The text ends with the identity of an object, which differs each time.
    text: str = state.RocksDBConf.apply(state.StateStoreConf.apply(conf)).toString()
    return text.rpartition(",")[0]


@pytest.mark.spark
@pytest.mark.parametrize("setting", SPARK_SETTINGS)
def test_spark_defines_each_setting(spark: SparkSession, setting: str) -> None:
    """Spark ignores a setting that it does not know, so a wrong name would measure nothing."""
    assert knows(spark, setting)
    assert not knows(spark, f"{setting}s")


@pytest.mark.spark
@pytest.mark.parametrize("setting", [*ROCKSDB_SETTINGS, f"{ROCKSDB}.unknown"])
def test_state_store_reads_each_setting(spark: SparkSession, setting: str) -> None:
    """A setting of the state store changes the values that the state store reads; a wrong name changes nothing."""
    before = rocksdb_settings(spark)
    spark.conf.set(setting, ROCKSDB_SETTINGS.get(setting, "false"))
    try:
        assert (rocksdb_settings(spark) != before) == (setting in ROCKSDB_SETTINGS)
    finally:
        spark.conf.unset(setting)


@pytest.mark.spark
def test_kafka_clients_define_each_option(spark: SparkSession) -> None:
    """The consumer has each option of the source, and the producer has each option of the sink."""
    clients = jvm(spark).org.apache.kafka.clients
    consumer, producer = clients.consumer.ConsumerConfig.configNames(), clients.producer.ProducerConfig.configNames()
    source, sink = ({key for change in CHANGED for key in options(change)} for options in (_source, _sink))

    assert {"kafka.fetch.min.bytes", "kafka.fetch.max.wait.ms"} <= source
    assert {"kafka.linger.ms", "kafka.batch.size"} <= sink
    assert all(consumer.contains(key.removeprefix("kafka.")) for key in source)
    assert all(producer.contains(key.removeprefix("kafka.")) for key in sink)
    assert [False, False] == [consumer.contains("linger.ms"), producer.contains("fetch.min.bytes")]


@pytest.mark.parametrize("name", ALL)
def test_each_change_changes_the_query(name: str) -> None:
    """No change equals the recommended settings, and an option with the prefix `kafka.` reaches the client."""
    changed = ALL[name].applied(BASE)

    assert asdict(BASE) != asdict(changed)
    assert all(key.startswith("kafka.") for key in (*ALL[name].source, *ALL[name].sink))


def test_changes_can_be_combined() -> None:
    """Each change keeps the settings of the changes before it."""
    both = ALL["shuffle.partitions = 1"].applied(ALL["linger.ms = 5"].applied(BASE))

    expected = replace(BASE, shuffle_partitions=1, sink={**BASE.sink, "kafka.linger.ms": "5"})
    assert expected == both
    assert "avro" == ALL["linger.ms = 5"].applied(ALL["Avro between the hops"].applied(BASE)).between


def test_short_boundary_keeps_the_other_settings() -> None:
    """The settings of a short boundary are added to the recommended ones."""
    options = short_boundary(BASE)

    assert {**BASE.confs, **SHORT_BOUNDARY} == options.confs
    assert {*SHORT_BOUNDARY, "spark.sql.shuffle.partitions", EXCLUDED_CONF} == set(changed(BASE, options))
    assert {} == changed(BASE, BASE)


def test_one_query_replaces_both_hops() -> None:
    """The workload of two hops has one query if nothing is between the hops."""
    options = SparkOptions("real-time", between="one query")

    assert {"copy_0": 30} == options.intervals("two hops")


def _source(change: Change) -> list[str]:
    return list(change.source)


def _sink(change: Change) -> list[str]:
    return list(change.sink)
