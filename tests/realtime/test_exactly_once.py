"""
`read_committed` consumers get each result once, whichever process is killed.

Other consumers get results immediately.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast, expr
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.probes import drains, kills
from spark_rtm.kafka.consumer import UNCOMMITTED, read_topic
from spark_rtm.realtime import control
from spark_rtm.realtime.exactly_once import ExactlyOnceError, repeat_lost, to_kafka
from spark_rtm.realtime.failures import SECOND_WRITER, failure_of
from spark_rtm.realtime.python_state import transform_with_state
from spark_rtm.realtime.queries import QueryFailedError, stop_completely, wait_until
from spark_rtm.realtime.warm_up import warm_up_silently
from tests.helpers import eventually, kafka_rows, new_topic, produce, start_to_kafka
from tests.realtime.python_processors import Counting
from tests.realtime.test_control import COUNTS, traffic

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(300)]


def start(
    rows: DataFrame,
    kafka: str,
    target: str,
    checkpoint: Path,
    mode: str = "realTime",
    client: Mapping[str, str] | None = None,
    **others: Any,
) -> StreamingQuery:
    chosen = {"transactional_prefix": target, "topic": target, "checkpoint": str(checkpoint), **others}
    writer = to_kafka(rows, options={"kafka.bootstrap.servers": kafka, **(client or {})}, **chosen)
    interval = "5 minutes" if mode == "realTime" else "500 milliseconds"
    query: StreamingQuery = writer.queryName(checkpoint.name).outputMode("update").trigger(**{mode: interval}).start()
    return query


def values(kafka: str, topic: str) -> Counter[str]:
    return Counter((message.value() or b"").decode() for message in read_topic(kafka, topic))


def visible(kafka: str, topic: str) -> int:
    return len(read_topic(kafka, topic, isolation_level=UNCOMMITTED))


def records(checkpoint: Path) -> list[str]:
    return [path.name for path in (checkpoint / "transactions").glob("[0-9]*")]


def counts(spark: SparkSession, kafka: str, source: str) -> DataFrame:
    return kafka_rows(spark, kafka, source, control.SOURCE).groupBy("key").count().selectExpr("key", COUNTS)


def copied(spark: SparkSession, kafka: str, source: str) -> DataFrame:
    return kafka_rows(spark, kafka, source, control.SOURCE).select("value")


def send(kafka: str, topic: str, sent: Counter[str], value: bytes) -> None:
    produce(kafka, topic, [(0, value)])
    sent[value.decode()] += 1


def test_rows_are_visible_at_once_and_committed_with_their_batch(
    spark: SparkSession, kafka: str, tmp_path: Path
) -> None:
    source, target, checkpoint = new_topic(kafka, 2), new_topic(kafka, 2), tmp_path / "copy"
    query = start(copied(spark, kafka, source), kafka, target, checkpoint)
    assert "MicroBatchExecution" == query._jsq.streamingQuery().getClass().getSimpleName()  # noqa: SLF001 - Scala
    produce(kafka, source, [(0, b"a"), (1, b"b")])

    eventually(lambda: visible(kafka, target) == 2, 60, "uncommitted rows")
    assert [] == read_topic(kafka, target)
    control.commit(query)
    eventually(lambda: values(kafka, target) == Counter("ab"), 10, "committed rows")
    produce(kafka, source, [(0, b"c")])
    control.stop(query)
    eventually(lambda: values(kafka, target) == Counter("abc"), 10, "rows before the stop")
    eventually(lambda: not records(checkpoint), 10, "no record of a transaction")


def test_batch_that_is_stopped_in_the_middle_is_written_once(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Then Spark's sink continues the counts on the same checkpoint, and afterwards `to_kafka` continues."""
    source, target, plain = new_topic(kafka, 2), new_topic(kafka, 2), new_topic(kafka, 2)
    checkpoint = tmp_path / "counts"
    with traffic(kafka, source) as sent:
        for _ in range(2):
            query = start(counts(spark, kafka, source), kafka, target, checkpoint)
            before = visible(kafka, target)
            wait_until(lambda n=before: visible(kafka, target) > n + 50, 60, "rows", [query])  # type: ignore[misc]
            control.commit(query)
            before = visible(kafka, target)
            wait_until(lambda n=before: visible(kafka, target) > n + 50, 60, "more rows", [query])  # type: ignore[misc]
            stop_completely(spark, query)
    query = start(counts(spark, kafka, source), kafka, target, checkpoint)
    control.stop(query)
    eventually(lambda: values(kafka, target) == texts(range(len(sent)), "{key} {count}"), 10, "each count once")
    assert visible(kafka, target) > len(sent)

    produce(kafka, source, [(0, b"x")])
    query = start_to_kafka(counts(spark, kafka, source), kafka, checkpoint, "5 minutes", topic=plain)
    control.stop(query)
    assert 1 == values(kafka, plain).total()
    produce(kafka, source, [(0, b"x")])
    query = start(counts(spark, kafka, source), kafka, target, checkpoint)
    control.stop(query)
    eventually(lambda: values(kafka, target).total() == len(sent) + 1, 10, "the row after the plain sink")


def texts(numbers: Iterable[int], form: str) -> Counter[str]:
    return Counter(form.format(number=number, key=number % 10, count=number // 10 + 1) for number in numbers)


ALL = 10**9
KINDS: dict[str, tuple[Callable[[DataFrame], DataFrame], dict[str, int]]] = {
    "deduplication": (lambda rows: rows.dropDuplicates(["key"]).selectExpr("string(value) value"), {"{number}": 10}),
    "join with a table": (
        lambda rows: rows.join(broadcast(rows.sparkSession.range(10)), expr("key = string(id)")).select("value"),
        {"{number}": ALL},
    ),
    "clock and random value": (
        lambda rows: rows.selectExpr("string(value) || ' ' || uuid() || current_timestamp() value"),
        {"{number}": ALL},
    ),
    "Python processor with timers": (
        lambda rows: transform_with_state(
            rows.selectExpr("string(key) key"), ["key"], Counting(), "key string, value string"
        ),
        {"{key} {count}": ALL, "{key} timer": 10},
    ),
}
"""For each kind: the query, and the most numbers of the traffic for which it writes a result of a form."""


@pytest.mark.parametrize("kind", KINDS)
def test_result_of_each_kind_is_committed_once(spark: SparkSession, kafka: str, tmp_path: Path, kind: str) -> None:
    """The query is stopped in the middle of a batch. A random value is that of the last attempt."""
    source, target, (transform, forms) = new_topic(kafka, 2), new_topic(kafka, 2), KINDS[kind]

    def start_kind() -> StreamingQuery:
        return start(transform(kafka_rows(spark, kafka, source, control.SOURCE)), kafka, target, tmp_path / "kind")

    with traffic(kafka, source) as sent:
        query = start_kind()
        wait_until(lambda: visible(kafka, target) > 5, 60, "rows", [query])
        control.commit(query)
        at_commit = len(sent)
        wait_until(lambda: len(sent) > at_commit + 100, 60, "more rows", [query])
        stop_completely(spark, query)
    query = start_kind()
    control.stop(query)

    def found() -> Counter[str]:
        committed = values(kafka, target)
        return Counter(text.partition(" ")[0] for text in committed.elements()) if "random" in kind else committed

    expected = sum((texts(range(min(len(sent), most)), form) for form, most in forms.items()), Counter[str]())
    eventually(lambda: found() == expected, 20, "each result once")


def test_columns_choose_topic_partition_and_headers(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """The test uses micro-batch mode and Spark's own source."""
    source, target, other = new_topic(kafka, 1), new_topic(kafka, 2), new_topic(kafka, 2)
    rows = kafka_rows(spark, kafka, source).selectExpr(
        "case when value = 'other' then null else cast(value as string) end key",
        "if(value = 'null', null, value) value",
        f"if(value = 'other', '{other}', '{target}') topic",
        "if(value = 'other', 1, 0) partition",
        "array(struct('h' as key, cast('x' as binary) as value)) headers",
    )
    query = start(rows, kafka, target, tmp_path / "columns", mode="processingTime", topic="")
    produce(kafka, source, [(0, b"one"), (0, b"other"), (0, b"null")])

    wait_until(lambda: len(read_topic(kafka, target)) == 2 and len(read_topic(kafka, other)) == 1, 60, "rows", [query])
    query.stop()
    found = [*read_topic(kafka, target), *read_topic(kafka, other)]
    shown = [(m.partition(), m.key(), m.value(), m.headers()) for m in found]
    header = [("h", b"x")]
    assert [(0, b"one", b"one", header), (0, b"null", None, header), (1, None, b"other", header)] == shown


@pytest.mark.parametrize(
    ("column", "options", "problem"),
    [
        ("key", {}, "no column 'value'"),
        ("offset as value", {}, "column 'value' is bigint instead of"),
        ("value", {"topic": ""}, "neither a column nor the option names the topic"),
        ("value", {"client": {"checkpointLocation": "x"}}, "does not support 'checkpointLocation'"),
        (
            "value",
            {"timeout_seconds": 599},
            r"EXACTLY_ONCE_TIMEOUT\] a batch lasts 300 s, .* timeout_seconds to .* 600",
        ),
        (
            "value",
            {"timeout_seconds": 901},
            r"EXACTLY_ONCE_TIMEOUT\] .* up to 901 s, but the brokers allow at most 900 s",
        ),
        ("value", {"topic": "missing"}, r"EXACTLY_ONCE_NO_TOPIC\] topic 'missing' does not exist"),
    ],
)
def test_query_that_cannot_write_exactly_once_does_not_start(
    spark: SparkSession, kafka: str, tmp_path: Path, column: str, options: dict[str, Any], problem: str
) -> None:
    rows, target = kafka_rows(spark, kafka, new_topic(kafka, 1)).selectExpr(column), new_topic(kafka, 2)

    with pytest.raises((ValueError, ExactlyOnceError), match=problem):
        start(rows, kafka, target, tmp_path / "wrong", **options)


def test_second_query_with_the_same_prefix_ends_the_first(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    source, target = new_topic(kafka, 1), new_topic(kafka, 2)
    rows = copied(spark, kafka, source)
    first = start(rows, kafka, target, tmp_path / "first")
    produce(kafka, source, [(0, b"a")])
    eventually(lambda: visible(kafka, target), 60, "a row of the first query")
    second = start(rows, kafka, target, tmp_path / "second")
    eventually(lambda: visible(kafka, target) == 2, 60, "a row of the second query")
    sent = Counter("a")

    # The answer to a row arrives after the row, so a later row finds the failure.
    with pytest.raises(QueryFailedError, match=r"\[EXACTLY_ONCE_FENCED\] .* a second query has the prefix"):
        wait_until(lambda: send(kafka, source, sent, b"b"), 60, "the failure of the first query", [first])
    assert SECOND_WRITER is failure_of("first", first.exception(), 0).cause  # type: ignore[arg-type]
    control.stop(second)
    eventually(lambda: values(kafka, target) == sent, 10, "the rows of the second query, each once")


def test_standby_that_warms_up_leaves_open_transactions_alone(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    source, target = new_topic(kafka, 1), new_topic(kafka, 2)
    rows = copied(spark, kafka, source)
    query = start(rows, kafka, target, tmp_path / "leader")
    produce(kafka, source, [(0, b"a")])
    eventually(lambda: visible(kafka, target), 60, "an uncommitted row")

    warm_up_silently(spark, lambda folder: {"w": lambda: start(rows, kafka, target, folder / "w")}, tmp_path, batches=2)
    control.stop(query)

    eventually(lambda: values(kafka, target) == Counter("a"), 10, "the row")


def test_record_above_the_limit_leaves_nothing_of_its_batch(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    source, target = new_topic(kafka, 1), new_topic(kafka, 2)
    limit = {"kafka.max.request.size": "1000"}
    query = start(copied(spark, kafka, source), kafka, target, tmp_path / "large", client=limit)
    produce(kafka, source, [(0, b"a"), (0, b"b" * 1_000)])

    with pytest.raises(QueryFailedError, match="RecordTooLargeException"):
        wait_until(lambda: send(kafka, source, Counter(), b"c"), 60, "the failure", [query])
    assert "RecordTooLargeException" == failure_of("large", query.exception(), 0).name  # type: ignore[arg-type]
    assert Counter() == values(kafka, target)


def test_lost_transaction_stops_the_start_until_its_batch_is_repeated(
    spark: SparkSession, kafka: str, tmp_path: Path
) -> None:
    """A recorded transaction that the broker does not know represents an aborted transaction."""
    source, target, checkpoint = new_topic(kafka, 2), new_topic(kafka, 2), tmp_path / "lost"
    rows = kafka_rows(spark, kafka, source, control.SOURCE).groupBy("value").count()
    rows = rows.selectExpr("string(value) || ' ' || count as value")
    query = start(rows, kafka, target, checkpoint)
    for batch in range(2):
        produce(kafka, source, [(0, b"a"), (1, b"b")])
        wait_until(lambda n=batch: visible(kafka, target) == 2 * n + 2, 60, "rows", [query])  # type: ignore[misc]
        assert batch == control.commit(query)
    stop_completely(spark, query)
    eventually(lambda: not records(checkpoint), 10, "no record of a transaction")
    with pytest.raises(ValueError, match="nothing to repeat"):
        repeat_lost(checkpoint)
    began = (checkpoint / "offsets/1").read_text().partition('"batchTimestampMs":')[2].partition(",")[0]
    (checkpoint / f"transactions/1-1-{began}-987654321-0").write_text("v1\n")

    problem = r"\[EXACTLY_ONCE_TRANSACTION_LOST\] batch 1 is in the commit log.* Aborted: partitions 1 of batch 1"
    with pytest.raises(ExactlyOnceError, match=problem):
        start(rows, kafka, target, checkpoint)
    assert "repeats batches 1 to 1" in repeat_lost(checkpoint)
    produce(kafka, source, [(0, b"a")])
    control.stop(start(rows, kafka, target, checkpoint))

    expected = Counter(["a 1", "b 1", "a 2", "b 2", "a 2", "b 2", "a 3"])
    eventually(lambda: values(kafka, target) == expected, 10, "the second batch again, and the row after it")
    with pytest.raises(
        ExactlyOnceError, match=rf"EXACTLY_ONCE_OTHER_PREFIX\] .* belongs to the transactional prefix '{target}'"
    ):
        start(rows, kafka, target, checkpoint, transactional_prefix="other")


def test_session_that_cannot_write_exactly_once_is_refused(
    spark: SparkSession, kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first assertion names the member that a newer Kafka client no longer has."""
    assert "" == spark._jvm.spark_rtm.exactly_once.Resumed.missing()  # type: ignore[union-attr]  # noqa: SLF001 - Scala
    rows = copied(spark, kafka, "clicks")
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)

    with pytest.raises(
        ExactlyOnceError, match=r"EXACTLY_ONCE_UNSUPPORTED\] .*'p' cannot write exactly once over Spark Connect"
    ):
        to_kafka(rows, transactional_prefix="p", checkpoint=str(tmp_path), options={})


@contextmanager
def killed_job(kafka: str, folder: Path) -> Iterator[kills.Job]:
    """Run a job under traffic, and check that each result is there once. Its checkpoints are not in `file:`."""
    sent, job = list[str](), kills.Job(kafka, folder, "")
    names = {name: new_topic(kafka, 2) for name in ("source", *drains.QUERIES)}
    (folder / "topics.json").write_text(json.dumps(names))
    job.start()
    try:
        with drains.traffic(kafka, 100, sent, names["source"]):
            drains.wait_for_flow(kafka, names["copy"], names["counts"])
            yield job
            drains.wait_for_flow(kafka, names["copy"], names["counts"])
        job.drain(names["source"])
    finally:
        job.close()
    for name in drains.QUERIES:
        assert (Counter(), Counter()) == drains.differences(kafka, name, names[name], sent)


@pytest.mark.parametrize(
    "step", ["after the commit log of a repeated batch", "between the commits of two transactions", kills.RECOVERY]
)
def test_job_that_is_killed_at_a_step_writes_each_result_once(kafka: str, tmp_path: Path, step: str) -> None:
    with killed_job(kafka, tmp_path) as job:
        kills.kill(job, step)


def test_late_record_of_an_older_batch_leaves_later_transactions_open(kafka: str, tmp_path: Path) -> None:
    """A paused driver can write the record of its transaction after another driver has begun one with the same id."""
    with killed_job(kafka, tmp_path) as job:
        kills.at_step("after rename .*/commits/[2-9]", job, restarts=False)
        for path in tmp_path.glob("*/transactions/[0-9]*-[2-9]-*"):
            partition, batch, *_ = path.name.split("-")
            path.with_name(f"{partition}-{int(batch) - 2}-1-987654321-0").touch()
        job.kill()
        job.start()


@pytest.mark.parametrize("source_format", ["kafka", control.SOURCE])
def test_source_reads_committed_records_across_aborted_ones(
    spark: SparkSession, kafka: str, tmp_path: Path, source_format: str
) -> None:
    """The topic ends with markers and aborted records, and one of its partitions is idle."""
    source, target = new_topic(kafka, 2), new_topic(kafka, 2)
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": source})
    producer.init_transactions()

    def write(text: str) -> None:
        producer.begin_transaction()
        for value in text:
            producer.produce(source, value, partition=0)
        producer.flush(30)

    def start_reader() -> StreamingQuery:
        level = {"kafka.isolation.level": "read_committed"}
        rows = kafka_rows(spark, kafka, source, source_format, **level).select("value")
        return start_to_kafka(rows, kafka, tmp_path / "reader", topic=target)

    write("a")
    producer.commit_transaction()
    write("bc")
    producer.abort_transaction()
    query = start_reader()
    wait_until(lambda: sum(one.numInputRows for one in query.recentProgress) == 1, 60, "a commit", [query])
    query.stop()
    write("d")
    query = start_reader()
    wait_until(lambda: len(query.recentProgress) > 1, 60, "two batches without the open transaction", [query])
    assert Counter("a") == values(kafka, target)
    producer.commit_transaction()
    write("e")
    producer.abort_transaction()
    if source_format == control.SOURCE:
        control.drain(query)
    wait_until(lambda: values(kafka, target) == Counter("ad"), 60, "committed records", [query])
