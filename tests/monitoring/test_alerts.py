import json
import math
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka import Producer
from prometheus_client import CollectorRegistry, start_http_server
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from scripts.pack import files
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.monitoring.query_listener import QueryMetrics
from spark_rtm.monitoring.topic_watcher import Canary, TopicWatcher
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import stop_completely
from spark_rtm.text import markdown
from tests.helpers import eventually, kafka_rows, new_topic, produce, start_to_kafka
from tests.monitoring.prometheus import FOLDER, RULES, Prometheus, program, prometheus

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

METRIC = re.compile(r"realtime_\w+")
PARTITIONS = 2
NAME = "monitored"


def rules() -> dict[str, str]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


def test_limits_on_the_page_are_those_of_the_rules() -> None:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    found = {rule["alert"]: rule for group in groups for rule in group["rules"]}
    [failing_minutes] = re.findall(r"\[(\d+)m\]", found["QueryFailing"]["expr"])
    limits = {name: rule["expr"].rpartition("> ")[2] for name, rule in found.items()}
    text = files.ROOT.joinpath("references/monitoring.md").read_text(encoding="utf-8")
    [table] = [table for table in markdown.tables(text) if table.header[0] == "rule"]
    conditions = {cells[0]: cells[1] for _, cells in table.rows}

    assert found.keys() == conditions.keys()
    for name, beginning in {
        "CanaryMissing": f"no result for {limits['CanaryMissing']} s",
        "NoProgressReport": f"no progress report for {limits['NoProgressReport']} s",
        "QueryFailing": f"{math.ceil(float(limits['QueryFailing']))} failures within {failing_minutes} minutes",
        "PartitionLag": f"more than {int(limits['PartitionLag']):,} records",
        "RecordsRejected": f"more than {100 * float(limits['RecordsRejected']):g} %",
        "ResultsLate": f"p99 above {limits['ResultsLate']} s for {found['ResultsLate']['for'][:-1]} minutes",
    }.items():
        assert conditions[name].startswith(beginning)


class Scene:
    def __init__(
        self, spark: SparkSession, kafka: str, checkpoint: Path, alerts: Prometheus, registry: CollectorRegistry
    ) -> None:
        self.spark, self.kafka, self.checkpoint, self.alerts = spark, kafka, checkpoint, alerts
        self.registry, self.late = registry, CollectorRegistry()
        self.source = new_topic(kafka, PARTITIONS)
        self.target, self.rejects = f"{self.source}-target", f"{self.source}-rejects"
        ensure_topics(kafka, [self.target, self.rejects], 1)
        value = '{{"id":"{}"}}'.format
        self.watcher = TopicWatcher(kafka, self.source, self.target, self.rejects, 4, registry)
        self.canary = Canary(kafka, self.source, PARTITIONS, lambda key: value(key).encode(), 0.2, registry)
        self.fired = set[str]()
        self.reported: list[float | None] = []

    def start(self, is_bad: str = "id is null") -> StreamingQuery:
        records = kafka_rows(self.spark, self.kafka, self.source).dropDuplicates(["partition", "offset"])
        headers = """array(struct('src' as key, binary(concat_ws(':', topic, partition, offset)) as value),
            struct('appended_ms' as key, binary(string(unix_millis(timestamp))) as value))"""
        rows = records.withColumn("id", F.expr("from_json(string(value), 'id string').id")).selectExpr(
            "key", "value", f"{headers} as headers", f"if({is_bad}, '{self.rejects}', '{self.target}') as topic"
        )
        return start_to_kafka(rows, self.kafka, self.checkpoint, "2 seconds")

    def until(self, expected: set[str], is_reported: Callable[[], object] = lambda: True) -> None:
        """Run the canary and the watcher until the expected alerts, or none, are active."""

        def probe() -> bool:
            self.canary.send_if_due()
            self.canary.receive(self.watcher.poll())
            active = self.alerts.active()
            return (expected <= active if expected else not active) and bool(is_reported())

        eventually(probe, 60, f"the alerts {expected}")
        self.fired |= expected

    def value(self, name: str, *, late: bool = False, query: str = NAME) -> float | None:
        registry = self.late if late else self.registry
        return registry.get_sample_value(f"realtime_query_{name}", {"query": query})


@pytest.fixture(scope="module")
def scene(spark: SparkSession, kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    registry = CollectorRegistry()
    server, _ = start_http_server(0, addr="127.0.0.1", registry=registry)
    metrics = QueryMetrics(registry)
    spark.streams.addListener(metrics)
    folder = tmp_path_factory.mktemp("monitored")
    with prometheus(server.server_port, folder) as alerts:
        scene = Scene(spark, kafka, folder / NAME, alerts, registry)
        try:
            _play(scene)
            yield scene
        finally:
            spark.streams.removeListener(metrics)
            scene.canary.close()
            scene.watcher.close()
            server.shutdown()


def _play(scene: Scene) -> None:
    query = scene.start()
    assert_real_time(query)
    scene.reported.append(scene.value("last_report_timestamp_seconds"))
    scene.until(set(), lambda: scene.value("rows_total"))
    scene.reported.append(scene.value("last_report_timestamp_seconds"))

    late = QueryMetrics(scene.late)
    scene.spark.streams.addListener(late)
    produce(scene.kafka, scene.source, [(0, b"not JSON")] * 20)
    scene.until({"RecordsRejected"})
    eventually(lambda: scene.value("rows_total", late=True), 60, "a batch for the late listener")

    stop_completely(scene.spark, query)
    eventually(lambda: scene.value("running", late=True, query="unnamed") == 0, 30, "the end without a name")
    scene.spark.streams.removeListener(late)
    waiting = Producer({"bootstrap.servers": scene.kafka})
    for number in range(1_001):
        waiting.produce(scene.source, json.dumps({"id": str(number)}).encode(), partition=0)
    assert 0 == waiting.flush(30)
    scene.until({"CanaryMissing", "QueryEnded", "PartitionLag"})

    query = scene.start()
    scene.until(set())
    stop_completely(scene.spark, query)

    produce(scene.kafka, scene.source, [(0, b'{"id":"last"}')])
    for _ in range(3):
        failing = scene.start("raise_error('broken') is null")
        eventually(failing.exception, 60, "the failure")
    scene.until({"QueryFailing", "QueryEnded"})


def test_each_fault_fires_its_alerts_and_a_healthy_query_none(scene: Scene) -> None:
    """Each alert rule must have fired. Rules that fire only after minutes are tested with recorded series instead."""
    assert set(rules()) == scene.fired | set(SERIES)


def test_listener_exports_state_and_reports(scene: Scene) -> None:
    """The listener exports one state row for each committed record, and batches of two seconds or longer."""
    started, finished = scene.reported

    assert scene.value("rows_total") == scene.value("state_rows") != 0
    assert (finished or 0) > (started or 0) > 0
    assert (scene.value("batch_seconds") or 0) > 1.9


def test_late_listener_misses_that_the_query_runs(scene: Scene) -> None:
    """The listener exports the batches, but not `realtime_query_running`, and reports the end under another name."""
    assert scene.value("rows_total", late=True)
    assert scene.value("running", late=True) is None


RUNNING, CANARY = "realtime_query_running", "realtime_canary_missing_seconds"
SERIES: dict[str, tuple[dict[str, str], dict[str, int]]] = {
    "NoProgressReport": ({"realtime_query_last_report_timestamp_seconds": "0x30"}, {"11m": 0, "12m": 1}),
    "ResultsLate": ({"realtime_latency_seconds{quantile='0.99'}": "0.5 2 0.5 2x10"}, {"2m": 0, "7m": 0, "9m": 1}),
    "QueryFailing": ({"realtime_query_failures_total": "0 1 2 2 3x30"}, {"3m": 0, "4m": 1, "18m": 0, "30m": 0}),
    "MetricsMissing": ({RUNNING: "1x9 stale _x8 1x20", CANARY: "0x24 stale"}, {"9m": 0, "12m": 1, "20m": 0, "27m": 1}),
}
"""Metrics with their values per minute, and whether the alert fires at a time."""


@pytest.mark.parametrize("rule", SERIES)
def test_rule_with_a_time_fires_after_it(rule: str, tmp_path: Path) -> None:
    """Prometheus's rule tester confirms the time of the alert, and rejects a different time."""
    series, states = SERIES[rule]
    firing = f"sum(ALERTS{{alertname='{rule}',alertstate='firing'}}) or vector(0)"

    def status(expected: dict[str, int]) -> int:
        cases = [
            {"expr": firing, "eval_time": at, "exp_samples": [{"labels": "{}", "value": value}]}
            for at, value in expected.items()
        ]
        inputs = [{"series": name, "values": values} for name, values in series.items()]
        test = {"interval": "1m", "input_series": inputs, "promql_expr_test": cases}
        (tmp_path / "test.yml").write_text(yaml.safe_dump({"rule_files": [str(RULES)], "tests": [test]}))
        return subprocess.run([program("promtool"), "test", "rules", "test.yml"], cwd=tmp_path, check=False).returncode

    assert [0, 1] == [status(states), status({at: 1 - value for at, value in states.items()})]


def test_dashboard_and_rules_use_only_exported_metrics(scene: Scene) -> None:
    samples = (sample.name for family in scene.registry.collect() for sample in family.samples)
    exported = {name for name in samples if not name.endswith("_created")}
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    shown = {name for panel in panels for target in panel["targets"] for name in METRIC.findall(target["expr"])}
    ruled = {name for rule in rules().values() for name in METRIC.findall(rule)}

    # OSS reports no latency, so this metric has no value here.
    assert {"realtime_query_latency_seconds"} == (shown | ruled) - exported
    assert exported <= shown


def test_hostile_headers_neither_end_the_watcher_nor_hide_the_lag(kafka: str) -> None:
    source, registry = new_topic(kafka, 1), CollectorRegistry()
    target, rejects = f"{source}-target", f"{source}-rejects"
    ensure_topics(kafka, [target, rejects], 1)
    watcher = TopicWatcher(kafka, source, target, rejects, registry=registry)
    produce(kafka, source, [(0, b"{}")])
    producer = Producer({"bootstrap.servers": kafka})
    for appended_ms in (None, b"9" * 5_000, "\u0663".encode(), b"1"):
        headers: dict[str, str | bytes | None] = {"src": f"{source}:0:{2**62}", "appended_ms": appended_ms}
        producer.produce(target, b"{}", headers=headers)
    assert 0 == producer.flush(30)

    def count(outcome: str) -> float | None:
        watcher.poll()
        return registry.get_sample_value("realtime_records_total", {"outcome": outcome})

    eventually(lambda: count("result") == 1, 60, "the records")
    watcher.close()

    assert 60 == watcher.window_seconds
    assert 3 == registry.get_sample_value("realtime_records_total", {"outcome": "unmeasured"})
    assert 1 == registry.get_sample_value("realtime_partition_lag", {"partition": "0"})


@pytest.mark.parametrize(
    ("client", "max_age_seconds"),
    [({"message.timeout.ms": 100}, 60), ({}, 0.1), ({"queue.buffering.max.messages": 1}, 60)],
    ids=["not delivered", "too old", "full buffer"],
)
def test_lost_canary_is_counted_and_forgotten(client: dict[str, object], max_age_seconds: float) -> None:
    """A canary that no broker accepted, or that has no result, does not raise an alert forever."""
    registry = CollectorRegistry()
    canary = Canary("127.0.0.1:1", "source", 2, str.encode, 60, registry, client, max_age_seconds)

    def is_lost() -> bool:
        canary.send_if_due()
        canary.receive([])
        lost = registry.get_sample_value("realtime_canaries_lost_total") or 0
        missing = [registry.get_sample_value("realtime_canary_missing_seconds", {"partition": p}) for p in "01"]
        return lost >= 1 and 0 in missing

    eventually(is_lost, 30, "the loss")
