"""Spark and the Kafka clients recognize each setting of the benchmark, and each change has an effect."""

from collections import Counter
from dataclasses import asdict
from itertools import groupby
from typing import Any

import pytest
from pyspark.sql import SparkSession

from benchmarks.settings.measure import (
    GROUP,
    ROCKSDB,
    TOPIC_PARTITIONS,
    UNTOUCHED,
    applied,
    cases_of,
    changes_of,
    plan_of,
)
from benchmarks.spark.variants import CHECKPOINT_MANAGER_CONF, FILE_SYSTEM_CONF, JAVA_OPTIONS_CONF, recommended

BASE = recommended(5, quick=True)
CHANGES = changes_of(BASE)
CASES = cases_of(BASE)
ALL = {f"{workload}: {name}": change for workload, named in CHANGES.items() for name, change in named.items()}
FOREIGN = {CHECKPOINT_MANAGER_CONF, FILE_SYSTEM_CONF, JAVA_OPTIONS_CONF}
"""Settings outside Spark's list: Hadoop reads them, or the JVM."""
SETTINGS = {
    key: value for change in ALL.values() for key, value in change.get("confs", {}).items() if key not in FOREIGN
}
SPARK_SETTINGS = sorted(key for key in SETTINGS if not key.startswith(ROCKSDB))
ROCKSDB_SETTINGS = {key: value for key, value in SETTINGS.items() if key.startswith(ROCKSDB)}


def jvm(spark: SparkSession) -> Any:
    return spark._jvm  # noqa: SLF001 - there is no public API


def knows(spark: SparkSession, setting: str) -> bool:
    return jvm(spark).org.apache.spark.internal.config.ConfigEntry.findEntry(setting) is not None


def rocksdb_settings(spark: SparkSession) -> str:
    state = jvm(spark).org.apache.spark.sql.execution.streaming.state
    conf = spark._jsparkSession.sessionState().conf()  # noqa: SLF001 - there is no public API
    # The text ends with the identity of an object, which differs each time.
    text: str = state.RocksDBConf.apply(state.StateStoreConf.apply(conf)).toString()
    return text.rpartition(",")[0]


@pytest.mark.parametrize("setting", SPARK_SETTINGS)
def test_spark_defines_each_setting(spark: SparkSession, setting: str) -> None:
    assert knows(spark, setting)
    assert not knows(spark, f"{setting}s")


@pytest.mark.parametrize("setting", [*ROCKSDB_SETTINGS, f"{ROCKSDB}.unknown"])
def test_state_store_reads_each_setting(spark: SparkSession, setting: str) -> None:
    """A state store setting changes the values that the store reads; a wrong name changes nothing."""
    before = rocksdb_settings(spark)
    spark.conf.set(setting, ROCKSDB_SETTINGS.get(setting, "false"))
    try:
        assert (rocksdb_settings(spark) != before) == (setting in ROCKSDB_SETTINGS)
    finally:
        spark.conf.unset(setting)


def test_kafka_clients_define_each_option(spark: SparkSession) -> None:
    clients = jvm(spark).org.apache.kafka.clients
    consumer, producer = clients.consumer.ConsumerConfig.configNames(), clients.producer.ProducerConfig.configNames()
    source = {key for change in ALL.values() for key in change.get("source", ())}
    sink = {key for change in ALL.values() for key in change.get("sink", ()) if key.startswith("kafka.")}

    assert {"kafka.fetch.min.bytes", "kafka.fetch.max.wait.ms"} <= source
    assert {"kafka.linger.ms", "kafka.batch.size"} <= sink
    assert all(consumer.contains(key.removeprefix("kafka.")) for key in source)
    assert all(producer.contains(key.removeprefix("kafka.")) for key in sink)
    assert [False, False] == [consumer.contains("linger.ms"), producer.contains("fetch.min.bytes")]


@pytest.mark.parametrize("name", ALL)
def test_each_change_changes_exactly_what_it_names(name: str) -> None:
    """A change differs from the recommended settings in one way, and an option of Kafka reaches the client."""
    change = ALL[name]
    settings, found = asdict(BASE), asdict(applied(change, BASE))

    different = {key for key in settings if settings[key] != found[key]} | ({TOPIC_PARTITIONS} & change.keys())
    assert change.keys() == different
    assert len(different) == 1 or name == "stateful: all of these = Spark's defaults"
    client_options = (*change.get("source", ()), *change.get("sink", ()))
    assert all(key.startswith("kafka.") or key == "asyncProgressTrackingEnabled" for key in client_options)


def test_each_change_runs_once_near_an_untouched_query() -> None:
    """At most `GROUP` changes of a workload run between two untouched queries of it."""
    plan = plan_of(BASE, CASES)

    groups = [
        [*cases] for is_untouched, cases in groupby(plan, lambda case: case.engine == UNTOUCHED) if not is_untouched
    ]
    assert GROUP == max(map(len, groups))
    assert all(len({case.workload for case in group}) == 1 for group in groups)
    names = [(case.workload, case.engine) for group in groups for case in group]
    assert [(workload, name) for workload, named in CHANGES.items() for name in named] == names
    assert {4, 2} == {case.partitions for case in plan}


def test_each_workload_has_two_untouched_queries_for_its_noise() -> None:
    """A workload with few changes also has equal runs, even if a filter selects only one change."""
    counts = Counter(case.workload for case in plan_of(BASE, CASES) if case.engine == UNTOUCHED)
    assert {"stateful": 7, "stateless": 3} == counts
    assert [UNTOUCHED, CASES[-1].engine, UNTOUCHED] == [case.engine for case in plan_of(BASE, CASES[-1:])]
