import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import stop_completely
from tests.helpers import end_offset, eventually, kafka_rows, new_topic, produce, records_of, start_to_kafka

pytestmark = [pytest.mark.spark, pytest.mark.services]

SOURCE = "array(struct('src' as key, cast(concat_ws(':', topic, partition, offset) as binary) as value)) as headers"
LONG = "5 minutes"
NULL_STRUCT = """select to_json(if(id = 0, null, struct(id))), to_json(struct(if(id = 0, null, id) as id)),
to_json(struct(if(id = 0, null, id) as id), map('ignoreNullFields', 'false')) from range(1)"""
Record = tuple[str, dict[str, str]]
KIND = "schema_of_variant(variant_get(try_parse_json(text), '$.id'))"


def written(kafka: str, topic: str, count: int) -> list[Record]:
    """Wait for `count` records in partition 0 and return their values and headers in order."""
    eventually(lambda: end_offset(kafka, topic) >= count, 60, f"{count} records in {topic}")
    records: list[Record] = []
    for message in records_of(kafka, topic)[:count]:
        headers: Any = message.headers() or []
        records.append(((message.value() or b"").decode(), {name: value.decode() for name, value in headers}))
    return records


def committed_after(query: StreamingQuery, batches: int) -> Any:
    first = query.lastProgress.batchId if query.lastProgress else -1
    eventually(lambda: query.lastProgress and query.lastProgress.batchId >= first + batches, 60, "the next commit")
    return query.lastProgress


def numbered_records(start: int, end: int, partition: int = 0) -> Iterator[tuple[int, bytes]]:
    return ((partition, str(n).encode()) for n in range(start, end))


LENIENT = {
    "trailing": ('{"id":"a"}tail', "a", "try_parse_json(concat('[', text, ']')) is null"),
    "repeated": ('{"id":"a","id":"b"}', "b", "try_parse_json(text) is null"),
    "single-quotes": ("{'id':'a'}", "a", "from_json(text, 'id string', map('allowSingleQuotes', 'false')).id is null"),
    "object-for-string": ('{"id":{"x":1}}', '{"x":1}', f"{KIND} != 'STRING'"),
    "number-for-string": ('{"id":1}', "1", f"{KIND} != 'STRING'"),
}


@pytest.mark.parametrize(("text", "accepted", "stricter"), LENIENT.values(), ids=LENIENT)
def test_from_json_accepts_text_that_is_not_strict_json(
    spark: SparkSession, text: str, accepted: str, stricter: str
) -> None:
    """The stricter check rejects this text, but not valid JSON."""
    texts = spark.range(2).select(F.when(F.col("id") == 0, text).otherwise('{"id":"valid"}').alias("text"))
    options = {"columnNameOfCorruptRecord": "corrupt"}

    parsed = texts.select(F.from_json("text", "id string, corrupt string", options).alias("j"), F.expr(stricter))

    assert [(accepted, None, True), ("valid", None, False)] == [(*row[0], row[1]) for row in parsed.collect()]


def test_row_without_topic_ends_query_for_all_rows(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Each restart fails on the same row; a total expression then writes the whole open batch again."""
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    produce(kafka, source, numbered_records(0, 10))
    with_null_topic = kafka_rows(spark, kafka, source).selectExpr(
        "value", f"if(value = '5', null, '{target}') as topic"
    )

    for _ in range(2):
        query = start_to_kafka(with_null_topic, kafka, tmp_path, LONG)
        eventually(query.exception, 60, "the failure")
        assert "null topic" in str(query.exception())

    rows = kafka_rows(spark, kafka, source).selectExpr("value", f"'{target}' as topic")
    start_to_kafka(rows, kafka, tmp_path, LONG)
    expected = [str(n) for rows in (range(5), range(5), range(10)) for n in rows]
    assert expected == [value for value, _ in written(kafka, target, 20)]


def test_second_copy_continues_when_first_copy_ends(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    rows = kafka_rows(spark, kafka, source).selectExpr("value", f"'{target}' as topic", SOURCE)
    first, second = (start_to_kafka(rows, kafka, tmp_path / name, LONG) for name in ("first", "second"))
    produce(kafka, source, numbered_records(0, 10))
    found = written(kafka, target, 20)
    assert {2} == set(Counter(headers["src"] for _, headers in found).values())

    stop_completely(spark, first)
    produce(kafka, source, numbered_records(10, 20))

    found = written(kafka, target, 30)
    assert_real_time(second)
    assert {f"{source}:0:{n}" for n in range(20)} == {headers["src"] for _, headers in found}


def test_new_partitions_and_topics_are_read_in_the_next_batch(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """The query reads both from their first record, including records sent before it discovered them."""
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    part_of_names = source.removeprefix("test-")
    pattern = kafka_rows(spark, kafka, "", subscribePattern=part_of_names, includeHeaders="true")
    rows = pattern.selectExpr(
        "concat(topic, ':', partition) as value", "headers", "0 as partition", f"'{target}' as topic"
    )
    query = start_to_kafka(rows, kafka, tmp_path)
    produce(kafka, source, numbered_records(0, 1))
    written(kafka, target, 1)

    admin, later = AdminClient({"bootstrap.servers": kafka}), f"{source}-later"
    admin.create_partitions([NewPartitions(source, 2)])[source].result(30)
    admin.create_topics([NewTopic(later, 1)])[later].result(30)
    eventually(lambda: len(admin.list_topics(timeout=10).topics[source].partitions) == 2, 60, "the new partition")
    produce(kafka, source, numbered_records(0, 3, partition=1))
    produce(kafka, later, numbered_records(0, 3))

    found = written(kafka, target, 7)
    progress = committed_after(query, 1)
    assert {f"{source}:0": 1, f"{source}:1": 3, f"{later}:0": 3} == Counter(value for value, _ in found)
    assert {source: {"0": 1, "1": 3}, later: {"0": 3}} == json.loads(progress.sources[0].endOffset)


def test_topic_loaded_twice_is_read_twice(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Spark accepts a union of two loads of one topic, and the option `topic` overrides the column."""
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    both = kafka_rows(spark, kafka, source).union(kafka_rows(spark, kafka, source))
    produce(kafka, source, numbered_records(0, 3))

    start_to_kafka(both.selectExpr("value", "'nowhere' as topic"), kafka, tmp_path, LONG, topic=target)

    assert {"0": 2, "1": 2, "2": 2} == Counter(value for value, _ in written(kafka, target, 6))


def test_only_progress_metrics_show_lag_at_a_commit(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """`latestOffset` is the start of the batch, the metrics contain the lag, and no consumer group commits offsets."""
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    rows = kafka_rows(spark, kafka, source, **{"kafka.group.id": f"{source}-group"})
    query = start_to_kafka(rows.selectExpr("value", f"'{target}' as topic"), kafka, tmp_path, "5 seconds")
    assert_real_time(query)
    produce(kafka, source, numbered_records(0, 50))
    written(kafka, target, 50)

    (progress,) = committed_after(query, 1).sources

    assert ({source: {"0": 0}}, {source: {"0": 50}}) == (
        json.loads(progress.latestOffset),
        json.loads(progress.endOffset),
    )
    assert "0" == progress.metrics["maxOffsetsBehindLatest"]
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": f"{source}-group"})
    (committed,) = consumer.committed([TopicPartition(source, 0)], timeout=30)
    consumer.close()
    assert OFFSET_INVALID == committed.offset


def test_newer_record_of_another_partition_overtakes_older_records(
    spark: SparkSession, kafka: str, tmp_path: Path
) -> None:
    source, target, count = new_topic(kafka, 2), new_topic(kafka, 1), 100
    produce(kafka, source, numbered_records(0, count))
    produce(kafka, source, [(1, b"newest")])
    slow = "if(partition = 0, reflect('java.lang.Thread', 'sleep', 10L), 'not slow') as slept"
    rows = kafka_rows(spark, kafka, source).selectExpr("partition", slow).where("slept is not null")
    arrived = rows.groupBy().agg(F.to_json(F.collect_list("partition")).alias("value"))

    query = start_to_kafka(arrived.withColumn("topic", F.lit(target)), kafka, tmp_path / "overtaken", LONG)
    eventually(lambda: end_offset(kafka, target) == count + 1, 60, "all rows")
    query.stop()

    [newest] = records_of(kafka, target, first=count)
    order = json.loads(newest.value() or b"")
    assert count + 1 == len(order)
    assert order.index(1) < count


def test_new_checkpoint_starts_at_the_end_of_the_topic(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Without `startingOffsets` earlier records are skipped, and a checkpoint with offsets ignores the option."""
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    produce(kafka, source, numbered_records(0, 1))

    for number, offsets in enumerate(("", "earliest"), 1):
        stream = kafka_rows(spark, kafka, source, startingOffsets=offsets)
        query = start_to_kafka(stream.selectExpr("value", f"'{target}' as topic"), kafka, tmp_path)
        committed_after(query, 1)
        produce(kafka, source, numbered_records(number, number + 1))
        written(kafka, target, number)
        committed_after(query, 1)
        stop_completely(spark, query)

    assert ["1", "2"] == [value for value, _ in written(kafka, target, 2)]


def test_compacted_topic_refuses_records_without_a_key(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """A null value deletes its key; a record without a key makes the query fail at the end of the batch."""
    source, target = new_topic(kafka, 1), f"{new_topic(kafka, 1)}-compacted"
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(target, 1, config={"cleanup.policy": "compact"})])[target].result(30)
    produce(kafka, source, numbered_records(1, 2))
    rows = kafka_rows(spark, kafka, source).selectExpr("cast(value as string) as number")

    query = start_to_kafka(
        rows.selectExpr("if(number = '1', 'a', null) as key", "cast(null as string) as value", f"'{target}' as topic"),
        kafka,
        tmp_path,
        "5 seconds",
    )
    written(kafka, target, 1)
    produce(kafka, source, numbered_records(2, 3))

    eventually(query.exception, 60, "the refusal")
    assert "InvalidRecordException" in str(query.exception())
    assert [(b"a", None)] == [(message.key(), message.value()) for message in records_of(kafka, target)]


def test_json_of_null_structs_and_null_fields(spark: SparkSession) -> None:
    """`to_json` of a null struct is null, which deletes a key of a compacted topic; an option keeps null fields."""
    assert [(None, "{}", '{"id":null}')] == [tuple(row) for row in spark.sql(NULL_STRUCT).collect()]


DEFAULTS = {
    "admin.AdminClientConfig": {"default.api.timeout.ms": "60000"},
    "producer.ProducerConfig": {
        "linger.ms": "0",
        "acks": "all",
        "enable.idempotence": "true",
        "max.block.ms": "60000",
        "delivery.timeout.ms": "120000",
        "max.request.size": "1048576",
        "buffer.memory": "33554432",
    },
    "consumer.ConsumerConfig": {
        "fetch.min.bytes": "1",
        "fetch.max.wait.ms": "500",
        "ssl.truststore.type": "jks",
        "ssl.endpoint.identification.algorithm": "https",
    },
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_kafka_client_defaults_equal_the_table(spark: SparkSession, name: str) -> None:
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]  # noqa: SLF001 - not public
    definition = loader.loadClass(f"org.apache.kafka.clients.{name}").getMethod("configDef", None).invoke(None, None)

    defaults = definition.defaultValues()

    assert DEFAULTS[name] == {key: str(defaults.get(key)).lower() for key in DEFAULTS[name]}
    if "fetch.min.bytes" in DEFAULTS[name]:
        assert "answered as soon as that many byte(s) of data is available" in definition.toHtml()
