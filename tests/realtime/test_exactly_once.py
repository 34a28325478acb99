"""Each result once for readers of committed records, whoever dies, and at once for all others."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.probes import drains, kills
from spark_rtm.realtime import control
from spark_rtm.realtime.exactly_once import ExactlyOnceError, to_kafka
from spark_rtm.realtime.failures import SECOND_WRITER, failure_of
from spark_rtm.realtime.queries import QueryFailedError, stop_completely, wait_until
from spark_rtm.realtime.warm_up import warm_up_silently
from tests.helpers import eventually, kafka_rows, new_topic, produce, start_to_kafka
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


def read(kafka: str, topic: str, level: str = "read_committed", partitions: int = 2) -> list[Message]:
    consumer = Consumer(
        {"bootstrap.servers": kafka, "group.id": level, "isolation.level": level, "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    found, ends = list[Message](), 0
    while ends < partitions:
        message = consumer.poll(20)
        assert message is not None, f"timed out reading {topic}"
        ends += bool(message.error())
        found += [] if message.error() else [message]
    consumer.close()
    return found


def values(kafka: str, topic: str, level: str = "read_committed") -> Counter[str]:
    return Counter((message.value() or b"").decode() for message in read(kafka, topic, level))


def visible(kafka: str, topic: str) -> int:
    return len(read(kafka, topic, "read_uncommitted"))


def records(checkpoint: Path) -> list[str]:
    return [path.name for path in (checkpoint / "transactions").glob("[0-9]*")]


def counted(sent: list[str]) -> Counter[str]:
    return Counter(f"{number % 10} {number // 10 + 1}" for number in range(len(sent)))


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
    produce(kafka, source, [(0, b"a"), (1, b"b")])

    eventually(lambda: visible(kafka, target) == 2, 60, "uncommitted rows")
    assert [] == read(kafka, target)
    control.commit(query)
    eventually(lambda: values(kafka, target) == Counter("ab"), 10, "committed rows")
    produce(kafka, source, [(0, b"c")])
    control.stop(query)
    eventually(lambda: values(kafka, target) == Counter("abc"), 10, "rows before the stop")
    eventually(lambda: not records(checkpoint), 10, "no record of a transaction")


def test_batch_that_is_stopped_in_the_middle_is_written_once(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Then the sink of Spark continues the counts with the same checkpoint, and afterwards the transactions again."""
    source, target, plain = new_topic(kafka, 2), new_topic(kafka, 2), new_topic(kafka, 2)
    checkpoint = tmp_path / "counts"
    with traffic(kafka, source) as sent:
        for _ in range(2):
            query = start(counts(spark, kafka, source), kafka, target, checkpoint)
            before = visible(kafka, target)
            wait_until(lambda n=before: visible(kafka, target) > n + 50, 60, "rows", [query])  # type: ignore[misc]
            control.commit(query)
            wait_until(lambda n=before: visible(kafka, target) > n + 100, 60, "more rows", [query])  # type: ignore[misc]
            stop_completely(spark, query)
    query = start(counts(spark, kafka, source), kafka, target, checkpoint)
    control.stop(query)
    eventually(lambda: values(kafka, target) == counted(sent), 10, "each count once")
    assert visible(kafka, target) > len(sent)

    produce(kafka, source, [(0, b"x")])
    query = start_to_kafka(counts(spark, kafka, source), kafka, checkpoint, "5 minutes", topic=plain)
    control.stop(query)
    assert 1 == values(kafka, plain).total()
    produce(kafka, source, [(0, b"x")])
    query = start(counts(spark, kafka, source), kafka, target, checkpoint)
    control.stop(query)
    eventually(lambda: values(kafka, target).total() == len(sent) + 1, 10, "the row after the plain sink")


def test_columns_choose_topic_partition_and_headers(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """In micro-batch mode, with the source of Spark."""
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

    wait_until(lambda: len(read(kafka, target)) == 2 and len(read(kafka, other)) == 1, 60, "rows", [query])
    query.stop()
    shown = [(m.partition(), m.key(), m.value(), m.headers()) for m in (*read(kafka, target), *read(kafka, other))]
    header = [("h", b"x")]
    assert [(0, b"one", b"one", header), (0, b"null", None, header), (1, None, b"other", header)] == shown


@pytest.mark.parametrize(
    ("columns", "options", "problem"),
    [
        (["key"], {}, "no column 'value'"),
        (["offset as value"], {}, "column 'value' is bigint instead of"),
        (["value"], {"topic": ""}, "neither a column nor the option names the topic"),
        (["value"], {"client": {"checkpointLocation": "x"}}, "no option 'checkpointLocation'"),
    ],
)
def test_wrong_columns_and_options_are_named(
    spark: SparkSession, kafka: str, tmp_path: Path, columns: list[str], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        start(kafka_rows(spark, kafka, "clicks").selectExpr(*columns), kafka, "target", tmp_path, **options)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"timeout_seconds": 599}, r"TIMEOUT\] a batch lasts 300 s, .* 599 s; set timeout_seconds to at least 600"),
        ({"timeout_seconds": 901}, r"TIMEOUT\] .* up to 901 s, but the brokers allow at most 900 s"),
        ({"topic": "missing"}, r"NO_TOPIC\] topic 'missing' does not exist"),
    ],
)
def test_query_whose_transactions_cannot_hold_does_not_start(
    spark: SparkSession, kafka: str, tmp_path: Path, options: dict[str, Any], problem: str
) -> None:
    source, target = new_topic(kafka, 1), new_topic(kafka, 2)

    with pytest.raises(ExactlyOnceError, match=rf"\[EXACTLY_ONCE_{problem}"):
        start(kafka_rows(spark, kafka, source), kafka, target, tmp_path / "long", **options)


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


@contextmanager
def lost(checkpoint: Path) -> Iterator[None]:
    """Add the record of a transaction of batch 0 whose producer the broker does not know."""
    began = (checkpoint / "offsets/0").read_text().partition('"batchTimestampMs":')[2].partition(",")[0]
    record = checkpoint / f"transactions/1-0-{began}-987654321-0"
    record.write_text("v1\n")
    yield
    record.unlink()


def test_aborted_transaction_and_another_prefix_stop_the_start(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    source, target, checkpoint = new_topic(kafka, 2), new_topic(kafka, 2), tmp_path / "lost"
    rows = copied(spark, kafka, source)
    produce(kafka, source, [(0, b"a"), (1, b"b")])
    control.stop(start(rows, kafka, target, checkpoint))
    eventually(lambda: not records(checkpoint), 10, "no record of a transaction")

    problem = r"\[EXACTLY_ONCE_TRANSACTION_LOST\] batch 0 is in the commit log.* Aborted: partitions 1 of batch 0"
    with lost(checkpoint), pytest.raises(ExactlyOnceError, match=problem):
        start(rows, kafka, target, checkpoint)
    with pytest.raises(ExactlyOnceError, match=rf"OTHER_PREFIX\] .* belongs to the transactional prefix '{target}'"):
        start(rows, kafka, target, checkpoint, transactional_prefix="other")


def test_session_that_cannot_write_exactly_once_is_refused(
    spark: SparkSession, kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first assertion names the member that a newer Kafka client no longer has."""
    assert "" == spark._jvm.spark_rtm.exactly_once.Resumed.missing()  # type: ignore[union-attr]  # noqa: SLF001 - Scala
    rows = copied(spark, kafka, "clicks")
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)

    with pytest.raises(ExactlyOnceError, match=r"UNSUPPORTED\] .*'p' cannot write exactly once over Spark Connect"):
        to_kafka(rows, transactional_prefix="p", checkpoint=str(tmp_path), options={})


@pytest.mark.parametrize(
    "step", ["after the commit log of a repeated batch", "between the commits of two transactions", kills.RECOVERY]
)
def test_job_that_is_killed_at_a_step_writes_each_result_once(kafka: str, tmp_path: Path, step: str) -> None:
    """The checkpoint is in another file system than `file:`."""
    sent, job = list[str](), kills.Job(kafka, tmp_path, "")
    names = {name: new_topic(kafka, 2) for name in ("source", *drains.QUERIES)}
    (tmp_path / "topics.json").write_text(json.dumps(names))
    job.start()
    try:
        with drains.traffic(kafka, 100, sent, names["source"]):
            kills.wait_for_flow(job, names)
            kills.kill(job, step)
            kills.wait_for_flow(job, names)
        job.end()
    finally:
        job.close()

    assert {(0, 0)} == {kills.differences(kafka, name, names[name], sent) for name in drains.QUERIES}


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
