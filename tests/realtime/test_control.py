"""Ending a batch on command: one query, now, and without repeats after a restart."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.realtime import control
from spark_rtm.realtime.control import ControlError
from spark_rtm.realtime.latency import CLOCK_MS, METRIC, with_latency
from spark_rtm.realtime.queries import KAFKA_SINK, stop_completely, wait_until
from spark_rtm.services.scala import scala_object
from tests.helpers import add_partition, end_offset, kafka_rows, new_topic, produce, records_of, start_to_kafka

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

COUNTED = Path(__file__).with_name("counted.scala")
COUNTS = "cast(key as string) || ' ' || count as value"


def read(spark: SparkSession, kafka: str, topics: str, source: str = control.SOURCE) -> DataFrame:
    return kafka_rows(spark, kafka, topics, source, **{"kafka.metadata.max.age.ms": "500"})


def start(rows: DataFrame, kafka: str, target: str, checkpoint: Path, interval: str = "5 minutes") -> StreamingQuery:
    """Start a query, usually at the default interval, which is longer than a test."""
    return start_to_kafka(rows, kafka, checkpoint, interval, topic=target, **KAFKA_SINK)


def processed(rows: DataFrame) -> DataFrame:
    numbers = "cast(cast(value as string) as long) number", "unix_millis(timestamp) appended_ts"
    arrivals = rows.selectExpr("cast(key as string) key", *numbers, "cast(null as boolean) _tick")
    counts = scala_object(rows.sparkSession, COUNTED, "counted.Counted").of(arrivals._jdf, 600_000, 3_600_000)  # noqa: SLF001 - for Scala
    return DataFrame(counts, rows.sparkSession).selectExpr(COUNTS)


@contextmanager
def traffic(kafka: str, topic: str, partitions: int = 2, at_once: int = 1) -> Iterator[list[str]]:
    """Send `at_once` records 100 times a second while the block runs, and yield the list of sent values."""
    sent, ended = list[str](), threading.Event()
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})

    def run() -> None:
        while not ended.wait(0.01):
            for number in range(len(sent), len(sent) + at_once):
                producer.produce(topic, str(number), key=str(number % 10), partition=number % partitions)
                sent.append(str(number))
            producer.poll(0)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield sent
    finally:
        ended.set()
        thread.join()
        assert producer.flush(30) == 0


def outputs(kafka: str, topic: str) -> list[str]:
    return [(record.value() or b"").decode() for number in (0, 1) for record in records_of(kafka, topic, number)]


def written(kafka: str, topic: str) -> int:
    return end_offset(kafka, topic, 0) + end_offset(kafka, topic, 1)


def test_commands_end_one_batch_and_repeat_nothing(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Under traffic, `transformWithState` continues with the `kafka` source, and later with `rtm-kafka` again."""
    source, target, other_target = (new_topic(kafka, 2) for _ in range(3))

    def start_with(source_format: str) -> StreamingQuery:
        return start(processed(read(spark, kafka, source, source_format)), kafka, target, tmp_path)

    query = start_with(control.SOURCE)
    other = start(read(spark, kafka, source), kafka, other_target, tmp_path / "other")
    with traffic(kafka, source) as sent:
        wait_until(lambda: written(kafka, target) > 50, 60, "traffic", [query])
        assert [0, 1] == [control.commit(query), control.commit(query)]
        assert other.lastProgress is None
        at_call = len(sent)
        control.drain(query)
        assert sum(progress.numInputRows for progress in query.recentProgress) >= at_call - 10
        assert control.stop(query) == 0

        query = start_with("kafka")
        before = written(kafka, target)
        wait_until(lambda: written(kafka, target) > before, 60, "results after the restart", [query])
        stop_completely(spark, query)
        query = start_with(control.SOURCE)
        wait_until(lambda: written(kafka, target) > before + 50, 60, "results after the second restart", [query])
        control.commit(query)
    control.stop(query)

    # The plain source was stopped in the middle of a batch, so its results, and only these, are there twice.
    assert {f"{number % 10} {number // 10 + 1}" for number in range(len(sent))} == set(outputs(kafka, target))


def test_copies_commit_between_the_commits_of_each_other(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    source, target, stop = new_topic(kafka, 2), new_topic(kafka, 2), threading.Event()
    rows = read(spark, kafka, source)
    first = start(rows, kafka, target, tmp_path / "first", "3 seconds")
    second = start(rows, kafka, target, tmp_path / "second")
    wait_until(lambda: first.lastProgress, 60, "a batch of the first copy", [first, second])
    before = len(first.recentProgress)
    arguments = (second, lambda: [batch.batchId for batch in first.recentProgress], 1.5, stop)
    staggering = threading.Thread(target=control.stagger, args=arguments)
    staggering.start()

    def are_two_between() -> bool:
        firsts, seconds = ([ended_at(batch) for batch in query.recentProgress] for query in (first, second))
        return sum(min(abs(one - other) for other in firsts) > 0.5 for one in seconds) >= 2

    with traffic(kafka, source) as sent:
        wait_until(are_two_between, 60, "commits between the commits of the first copy", [first, second])
    stop.set()
    staggering.join()
    firsts, seconds = ([ended_at(batch) for batch in query.recentProgress] for query in (first, second))
    control.stop(first)
    control.stop(second)

    # Each commit of the first copy causes at most one of the second copy, and not before the pause of 1.5 s.
    assert all(two - one > 1.4 for one, two in zip(firsts[before:], seconds, strict=False)), (firsts, seconds)
    assert sorted(sent * 2) == sorted(outputs(kafka, target))


def ended_at(batch: StreamingQueryProgress) -> float:
    return datetime.fromisoformat(batch.timestamp).timestamp() + batch.durationMs["triggerExecution"] / 1000


def commit_forever(query: StreamingQuery) -> None:
    while True:
        control.commit(query)


def test_stop_repeats_nothing_and_loses_nothing(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """
    Two restarts under traffic produce each result once; records that arrive during a stop are read later.

    Another thread commits without a pause, until it learns that the query has stopped. Of two stops at once, the later
    one finds a query that has stopped.
    """
    source, target = new_topic(kafka, 2), new_topic(kafka, 2)
    with traffic(kafka, source) as sent:
        for _ in range(2):
            before = written(kafka, target)
            query = start(read(spark, kafka, source), kafka, target, tmp_path)
            wait_until(lambda before=before: written(kafka, target) > before + 20, 60, "results", [query])  # type: ignore[misc]
            with ThreadPoolExecutor() as pool:
                committing = pool.submit(commit_forever, query)
                control.stop(query)
            assert not query.isActive
            assert re.search("by `stop`, so a restart repeats nothing|has no open batch", str(committing.exception()))
    query = start(read(spark, kafka, source), kafka, target, tmp_path)
    wait_until(lambda: written(kafka, target) >= len(sent), 60, "the last results", [query])
    with ThreadPoolExecutor() as pool:
        errors = [pool.submit(control.stop, query).exception for _ in range(2)]

    ended = f"query '{tmp_path.name}' has stopped, so it has no open batch; restart the query first"
    assert ["None", ended] == sorted(str(error()) for error in errors)
    assert sorted(sent) == sorted(outputs(kafka, target))


def test_commit_during_a_stop_does_not_let_the_next_batch_read(
    spark: SparkSession, kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = new_topic(kafka, 1), new_topic(kafka, 2)
    query = start(read(spark, kafka, source), kafka, target, tmp_path)
    control.commit(query)
    monkeypatch.setitem(control._HELD, str(query.runId), False)  # noqa: SLF001 - as `stop` does
    control.commit(query)
    produce(kafka, source, [(0, b"row")])
    control.commit(query)
    assert control.commit(query) == 3
    assert written(kafka, target) == 0

    monkeypatch.undo()
    wait_until(lambda: control.commit(query) and written(kafka, target), 30, "the row", [query])


def test_stop_all_first_drains_queries_with_commands_in_order(
    spark: SparkSession, kafka: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Another query, and each query after the deadline, stops in the middle of a batch."""
    source, ended = new_topic(kafka, 1), list[StreamingQuery]()
    targets = {name: new_topic(kafka, 2) for name in ("plain", "second", "first")}

    def all_after(record: bytes) -> list[StreamingQuery]:
        sources = {name: "kafka" if name == "plain" else control.SOURCE for name in targets}
        queries = [
            start(read(spark, kafka, source, sources[name]), kafka, targets[name], tmp_path / name) for name in targets
        ]
        produce(kafka, source, [(0, record)])
        wait_until(
            lambda: all(record.decode() in outputs(kafka, each) for each in targets.values()), 60, "rows", queries
        )
        return queries

    def watch(queries: list[StreamingQuery]) -> bool:
        ended.extend(query for query in queries if query not in ended and not query.isActive)
        return len(ended) == len(queries)

    plain, second, first = all_after(b"1")
    with ThreadPoolExecutor() as pool:
        pool.submit(wait_until, lambda: watch([second, first, plain]), 60, "three ends")
        control.stop_all(spark, [plain, second, first])
    assert [second, first, plain] == ended
    assert [] == caplog.records

    control.stop_all(spark, all_after(b"2"), 0)

    assert [] == spark.streams.active
    assert 2 == len([record for record in caplog.records if "in the middle of a batch" in record.getMessage()])
    assert [["1", "1", "2"], ["1", "2"], ["1", "2"]] == [outputs(kafka, target) for target in targets.values()]


def test_transactions_and_new_partitions_end_together(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Transaction markers are never read, and an added partition belongs to the next batch."""
    source, second, target = new_topic(kafka, 2), new_topic(kafka, 1), new_topic(kafka, 2)
    rows = read(spark, kafka, source).union(read(spark, kafka, second))
    query = start(rows, kafka, target, tmp_path)
    assert control.commit(query) == 0
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": source, "log_level": 2})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(source, b"transaction", partition=1)
    producer.commit_transaction(60)
    produce(kafka, second, [(0, b"second topic")])

    control.drain(query)

    assert {"transaction", "second topic"} == set(outputs(kafka, target))
    add_partition(kafka, second)
    wait_until(lambda: control.commit(query) and written(kafka, target) == 3, 60, "the new partition", [query])
    assert control.stop(query) == 0
    restarted = start(rows, kafka, target, tmp_path)
    produce(kafka, source, [(0, b"last")])
    wait_until(lambda: written(kafka, target) == 4, 60, "the last row", [restarted])
    assert ["last", "new", "second topic", "transaction"] == sorted(outputs(kafka, target))


def test_drain_reads_a_backlog_and_names_what_is_left(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """The first commit ends long before the backlog is read; after the deadline, the query still reads it."""
    source, target = new_topic(kafka, 2), new_topic(kafka, 2)
    for _ in range(4):
        produce(kafka, source, [(number % 2, b"x" * 100) for number in range(50_000)])
    query = start(read(spark, kafka, source), kafka, target, tmp_path)
    wait_until(lambda: written(kafka, target), 60, "the first records", [query])
    with pytest.raises(TimeoutError, match=rf"query '{tmp_path.name}'"):
        control.drain(query, 0)

    control.drain(query, 60)

    assert written(kafka, target) == 200_000
    assert len(query.recentProgress) > 2


def test_stop_returns_the_number_of_unread_records(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Draining has half of the deadline, in which the query reads about ten of the records."""
    source, target = new_topic(kafka, 1), new_topic(kafka, 2)
    produce(kafka, source, [(0, b"row")] * 200)
    slow = read(spark, kafka, source).where("reflect('java.lang.Thread', 'sleep', 500L) IS NOT NULL")
    query = start(slow, kafka, target, tmp_path)
    wait_until(lambda: written(kafka, target), 60, "a row", [query])

    assert control.stop(query, 10) == 200 - written(kafka, target)
    assert written(kafka, target) < 200


def test_slow_batch_reads_despite_endless_commands(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Each batch first collects a static table, so a command arrives before its readers start."""
    source, target, table = new_topic(kafka, 1), new_topic(kafka, 2), new_topic(kafka, 1)
    produce(kafka, table, [(0, b"row")])
    static = spark.read.format("kafka").options(**{"kafka.bootstrap.servers": kafka, "subscribe": table}).load()
    rows = read(spark, kafka, source).join(F.broadcast(static.select("value").alias("known")), "value").select("value")
    query = start(rows, kafka, target, tmp_path)
    produce(kafka, source, [(0, b"row")])

    wait_until(lambda: control.commit(query) + 1 and written(kafka, target), 30, "the row", [query])


def test_query_without_commands_is_refused_with_a_remedy(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    source, target = new_topic(kafka, 1), new_topic(kafka, 2)
    plain = start(read(spark, kafka, source, "kafka"), kafka, target, tmp_path / "plain")
    with pytest.raises(ControlError, match=r"no source of query 'plain' supports commands.*'rtm-kafka'"):
        control.commit(plain)
    assert control.SOURCE == control.source_format()
    mixed_rows = read(spark, kafka, source).union(read(spark, kafka, source, "kafka"))
    mixed = start(mixed_rows, kafka, target, tmp_path / "mixed")
    with pytest.raises((ControlError, TimeoutError)):
        control.stop(mixed, 1)
    assert mixed.isActive
    rows = read(spark, kafka, source).writeStream.format("noop").queryName("batches")
    batches = rows.option("checkpointLocation", str(tmp_path / "batches")).trigger(processingTime="1 second").start()
    produce(kafka, source, [(0, b"row")])
    wait_until(lambda: batches.lastProgress, 60, "a micro-batch", [batches])
    with pytest.raises(ControlError, match="no source of query 'batches' supports commands"):
        control.commit(batches)
    plain.stop()
    with pytest.raises(ControlError, match="'plain' has stopped"):
        control.drain(plain)


def test_progress_has_the_percentiles_of_the_rows(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Each row contains the clock before and after the metric, whose percentiles are between those of the two."""
    source, target = new_topic(kafka, 2), new_topic(kafka, 2)
    waited = f"string(bigint({CLOCK_MS}) - unix_millis(timestamp))"
    rows = with_latency(read(spark, kafka, source).withColumn("before", F.expr(waited)))
    query = start(rows.selectExpr("key", f"concat(before, ' ', {waited}) as value"), kafka, target, tmp_path)
    control.commit(query)  # a batch without rows has no percentiles
    with traffic(kafka, source, at_once=10):
        wait_until(lambda: written(kafka, target) > 3_000, 60, "traffic", [query])
    control.stop(query)
    idle, progress = query.recentProgress[:2]
    assert {"count": 0, "P50": None, "P99": None, "max": None} == idle.observedMetrics[METRIC].asDict()
    reported = progress.observedMetrics[METRIC]
    texts = [(record.value() or b"").split() for number in (0, 1) for record in records_of(kafka, target, number)]
    before, after = (sorted(map(int, column)) for column in zip(*texts, strict=True))

    assert reported["count"] == progress.numInputRows
    assert {"P50", "P99", "count", "max"} == set(reported.asDict())
    for name, share in {"P50": 0.5, "P99": 0.99, "max": 1}.items():
        low, high = (round(min(share + by, 1) * (len(texts) - 1)) for by in (-0.002, 0.002))
        assert before[low] <= reported[name] <= after[high], (name, reported)
    assert reported["P50"] <= reported["P99"] <= reported["max"]
