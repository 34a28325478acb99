import json
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, Consumer, TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from scripts.pack import files
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import stop_completely
from spark_rtm.text import markdown
from tests.helpers import add_partition, end_offset, eventually, new_topic, produce, records_of, start_to_kafka
from tests.pages.jobs import ModeJob

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.side_by_side]

SOURCE = "array(struct('src' as key, cast(concat_ws(':', topic, partition, offset) as binary) as value)) as headers"
LONG = "5 minutes"
NULL_STRUCT = """select to_json(if(id = 0, null, struct(id))), to_json(struct(if(id = 0, null, id) as id)),
to_json(struct(if(id = 0, null, id) as id), map('ignoreNullFields', 'false')) from range(1)"""
Record = tuple[str, dict[str, str]]
KIND = "schema_of_variant(variant_get(try_parse_json(text), '$.id'))"


def written(job: ModeJob, count: int) -> list[Record]:
    eventually(lambda: end_offset(job.kafka, job.target) >= count, 60, f"{count} records")
    records: list[Record] = []
    for message in records_of(job.kafka, job.target)[:count]:
        headers: Any = message.headers() or []
        records.append(((message.value() or b"").decode(), {name: value.decode() for name, value in headers}))
    return records


def committed_after(query: StreamingQuery, batches: int) -> Any:
    first = query.lastProgress.batchId if query.lastProgress else -1
    eventually(lambda: query.lastProgress and query.lastProgress.batchId >= first + batches, 60, "the next commit")
    return query.lastProgress


def send_numbers(job: ModeJob, start: int, end: int, partition: int = 0) -> None:
    produce(job.kafka, job.source, ((partition, str(number).encode()) for number in range(start, end)))


LENIENT = {
    '{"id":"a"}tail': ("a", "try_parse_json(concat('[', text, ']')) is null"),
    '{"id":"a","id":"b"}': ("b", "try_parse_json(text) is null"),
    "{'id':'a'}": ("a", "from_json(text, 'id string', map('allowSingleQuotes', 'false')).id is null"),
    '{"id":{"x":1}}': ('{"x":1}', f"{KIND} != 'STRING'"),
    '{"id":1}': ("1", f"{KIND} != 'STRING'"),
}
"""For each text: the id that `from_json` returns, and a check that rejects the text, but not valid JSON."""


def test_from_json_accepts_text_that_is_not_strict_json(spark: SparkSession) -> None:
    texts = spark.createDataFrame([*((text,) for text in LENIENT), ('{"id":"valid"}',)], "text string")
    parsed = F.from_json("text", "id string, corrupt string", {"columnNameOfCorruptRecord": "corrupt"})
    checks = F.array(*(F.expr(check) for _, check in LENIENT.values()))

    *lenient, valid = texts.select("text", parsed.alias("j"), checks.alias("rejected")).collect()

    assert [(text, accepted, None) for text, (accepted, _) in LENIENT.items()] == [(r.text, *r.j) for r in lenient]
    assert [True] * len(LENIENT) == [row.rejected[number] for number, row in enumerate(lenient)]
    assert (("valid", None), [False] * len(LENIENT)) == (tuple(valid.j), valid.rejected)


def test_row_without_topic_ends_query_for_all_rows(job: ModeJob) -> None:
    """Each restart fails on the same row; a total expression then writes the whole open batch again."""
    send_numbers(job, 0, 10)
    with_null_topic = job.rows().selectExpr("value", f"if(value = '5', null, '{job.target}') as topic")

    for _ in range(2):
        query = start_to_kafka(with_null_topic, job.kafka, job.checkpoint, LONG)
        eventually(query.exception, 60, "the failure")
        assert "null topic" in str(query.exception())

    job.copy(job.rows().select("value"), LONG)
    expected = [str(n) for rows in (range(5), range(5), range(10)) for n in rows]
    assert expected == [value for value, _ in written(job, 20)]


def test_new_partitions_and_topics_are_read_in_the_next_batch(job: ModeJob) -> None:
    """The query reads both from their first record. The sink's option `topic` overrides the column."""
    pattern = {"subscribe": "", "subscribePattern": job.source.removeprefix("test-")}
    rows = job.rows(**pattern, includeHeaders="true")
    query = job.copy(
        rows.selectExpr("concat(topic, ':', partition) as value", "headers", "0 as partition", "'no' as topic")
    )
    send_numbers(job, 0, 1)
    written(job, 1)

    later = f"{job.source}-later"
    add_partition(job.kafka, job.source)
    ensure_topics(job.kafka, [later], 1)
    send_numbers(job, 0, 2, partition=1)
    send_numbers(replace(job, source=later), 0, 3)

    found = written(job, 7)
    progress = committed_after(query, 1)
    assert {f"{job.source}:0": 1, f"{job.source}:1": 3, f"{later}:0": 3} == Counter(value for value, _ in found)
    assert {job.source: {"0": 1, "1": 3}, later: {"0": 3}} == json.loads(progress.sources[0].endOffset)


def test_only_progress_metrics_show_lag_at_a_commit(job: ModeJob) -> None:
    """`latestOffset` is the start of the batch, the metrics contain the lag, and no consumer group commits offsets."""
    query = job.copy(job.rows(**{"kafka.group.id": f"{job.source}-group"}).select("value"), "5 seconds")
    assert_real_time(query)
    send_numbers(job, 0, 50)
    written(job, 50)

    (progress,) = committed_after(query, 1).sources

    assert {job.source: {"0": 0}} == json.loads(progress.latestOffset)
    assert {job.source: {"0": 50}} == json.loads(progress.endOffset)
    assert "0" == progress.metrics["maxOffsetsBehindLatest"]
    consumer = Consumer({"bootstrap.servers": job.kafka, "group.id": f"{job.source}-group"})
    (committed,) = consumer.committed([TopicPartition(job.source, 0)], timeout=30)
    consumer.close()
    assert OFFSET_INVALID == committed.offset


def test_newer_record_of_another_partition_overtakes_older_records(job: ModeJob) -> None:
    job, count = replace(job, source=new_topic(job.kafka, 2)), 100
    send_numbers(job, 0, count)
    produce(job.kafka, job.source, [(1, b"newest")])
    slow = "if(partition = 0, reflect('java.lang.Thread', 'sleep', 10L), 'not slow') as slept"
    rows = job.rows().selectExpr("partition", slow).where("slept is not null")

    job.copy(rows.groupBy().agg(F.to_json(F.collect_list("partition")).alias("value")), LONG)

    newest, _ = written(job, count + 1)[-1]
    order = json.loads(newest)
    assert count + 1 == len(order)
    assert order.index(1) < count


def test_new_checkpoint_starts_at_the_end_of_the_topic(job: ModeJob) -> None:
    """Without `startingOffsets` earlier records are skipped, and a checkpoint with offsets ignores the option."""
    send_numbers(job, 0, 1)

    for number, offsets in enumerate(("", "earliest"), 1):
        query = job.copy(job.rows(startingOffsets=offsets).select("value"))
        committed_after(query, 1)
        send_numbers(job, number, number + 1)
        written(job, number)
        committed_after(query, 1)
        stop_completely(job.spark, query)

    assert ["1", "2"] == [value for value, _ in written(job, 2)]


def test_compacted_topic_refuses_records_without_a_key(job: ModeJob) -> None:
    """A null value deletes its key; a record without a key makes the query fail at the end of the batch."""
    target = f"{job.target}-compacted"
    ensure_topics(job.kafka, [target], 1, {target: {"cleanup.policy": "compact"}})
    job = replace(job, target=target)
    send_numbers(job, 1, 2)

    query = job.copy(job.rows().selectExpr("if(value = '1', 'a', null) as key", "cast(null as string) as value"))
    written(job, 1)
    send_numbers(job, 2, 3)

    eventually(query.exception, 60, "the refusal")
    assert "InvalidRecordException" in str(query.exception())
    assert [(b"a", None)] == [(message.key(), message.value()) for message in records_of(job.kafka, target)]


def test_json_of_null_structs_and_null_fields(spark: SparkSession) -> None:
    """`to_json` of a null struct is null, which deletes a key of a compacted topic; an option keeps null fields."""
    assert [(None, "{}", '{"id":null}')] == [tuple(row) for row in spark.sql(NULL_STRUCT).collect()]


CLIENTS = {"source": "consumer.ConsumerConfig", "sink": "producer.ProducerConfig", "start": "admin.AdminClientConfig"}
ON_OTHER_PAGES = [
    ("start", "kafka.default.api.timeout.ms", "60000"),
    ("sink", "kafka.delivery.timeout.ms", "120000"),
    ("source", "kafka.ssl.truststore.type", "jks"),
    ("source", "kafka.ssl.endpoint.identification.algorithm", "https"),
]


def test_kafka_client_defaults_equal_the_table(spark: SparkSession) -> None:
    tables = markdown.tables((files.ROOT / "references/kafka_patterns.md").read_text(encoding="utf-8"))
    [rows] = [table.rows for table in tables if tuple(table.header[:3]) == ("option", "side", "default")]
    stated = [
        (cells[1], option, default.strip("`"))
        for _, cells in rows
        if (options := re.findall(r"`(kafka\.[\w.]+)`", cells[0]))
        for option, default in zip(options, cells[2].partition(";")[0].split(", "), strict=True)
    ]
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]  # noqa: SLF001 - not public
    classes = {side: loader.loadClass(f"org.apache.kafka.clients.{name}") for side, name in CLIENTS.items()}
    definitions = {side: one.getMethod("configDef", None).invoke(None, None) for side, one in classes.items()}

    found = [
        (side, option, str(definitions[side].defaultValues().get(option.removeprefix("kafka."))).lower())
        for side, option, _ in [*stated, *ON_OTHER_PAGES]
    ]

    assert [*stated, *ON_OTHER_PAGES] == found
    assert {"kafka.max.block.ms", "kafka.fetch.min.bytes"} <= {option for _, option, _ in stated}
    assert "answered as soon as that many byte(s) of data is available" in definitions["source"].toHtml()
