import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.streaming.query import StreamingQuery

from scripts.pack.files import ROOT
from spark_rtm.realtime.failures import name_of
from spark_rtm.realtime.queries import stop_completely, wait_until
from spark_rtm.services.spark import AVRO_LIMITS, CONFS, EXECUTOR_JAVA_OPTIONS, JAVA_OPTIONS
from tests.helpers import end_offset, eventually, new_topic, produce, start_to_kafka, texts_of
from tests.pages.jobs import ModeJob, newest_entry, written
from tests.pages.samples import avro_click

pytestmark = pytest.mark.spark

FIELDS = [{"name": "click_id", "type": "string"}, {"name": "user_id", "type": "string"}]
WRITERS = {1: FIELDS, 2: [*FIELDS, {"name": "country", "type": "string", "default": "none"}]}
SCHEMAS = {n: json.dumps({"type": "record", "name": "Click", "fields": fields}) for n, fields in WRITERS.items()}
SCHEMA = SCHEMAS[1]
PERMISSIVE = {"mode": "PERMISSIVE"}
# Too short, a length that is too large, a negative length, and nothing.
FAILING = (b"\x04k", b"\xfe\xff\xff\xff\x0fk1", b"\x01k1", b"")


def decoded(spark: SparkSession, records: Iterable[bytes | None], options: dict[str, str] | None = None) -> list[Any]:
    rows = spark.createDataFrame([(None if data is None else bytearray(data),) for data in records], "data binary")
    found = rows.select(from_avro("data", SCHEMA, options or {}).alias("click")).collect()
    return [row.click and tuple(row.click) for row in found]


def test_distribution_has_neither_avro_nor_protobuf_functions(spark: SparkSession, tmp_path: Path) -> None:
    jars = {jar.name for jar in Path(pyspark.__file__).parent.glob("jars/spark-*.jar")}
    assert jars
    assert not {name for name in jars if name.startswith(("spark-avro", "spark-protobuf"))}

    descriptor = tmp_path / "descriptor"
    descriptor.touch()
    with pytest.raises(AnalysisException) as refused:
        spark.sql(f"select from_protobuf(x'00', 'M', '{descriptor}', map())")

    assert "PROTOBUF_NOT_LOADED_SQL_FUNCTIONS_UNUSABLE" == refused.value.getCondition()


def test_bad_avro_ends_the_query_or_becomes_a_struct_of_nulls(spark: SparkSession) -> None:
    """PERMISSIVE returns a struct whose fields are null, so a test for a null struct would miss it."""
    assert [(None, None)] * len(FAILING) == decoded(spark, FAILING, PERMISSIVE)

    for data in FAILING:
        with pytest.raises(Exception, match="Malformed records"):
            decoded(spark, [data])


def test_avro_data_may_be_wrong_without_an_error(spark: SparkSession) -> None:
    with_tail = avro_click(1, "k1", "u1")[5:] + b"tail"
    # The data of an array of two strings: its count and the first text.
    other = b"\x04\x04k\x00"

    for options in ({}, PERMISSIVE):
        assert [None, ("k1", "u1"), ("\x04k", "")] == decoded(spark, [None, with_tail, other], options)


def avro_long(number: int) -> bytes:
    """Return a positive number as Avro writes it: in groups of seven bits, the lowest first, with the sign in bit 0."""
    groups = [2 * number >> shift & 127 for shift in range(0, (2 * number).bit_length(), 7)]
    return bytes([*(group | 128 for group in groups[:-1]), groups[-1]])


def test_declared_length_above_the_limit_is_a_bad_record(spark: SparkSession) -> None:
    """Avro allocates the declared length first; 2^31 - 8 is the smallest that it refuses without a limit."""
    limit = 4_000_000
    heap = spark._jvm.java.lang.Runtime.getRuntime().maxMemory()  # type: ignore[union-attr]  # noqa: SLF001 - not public
    lengths = (limit + 1, heap // 2, heap - 1, 2**31 - 9, 2**31 - 8, 2**31 - 1)
    assert max(heap - 1, 2**31 - 9) == lengths[3]

    found = decoded(spark, [avro_long(length) + b"k1" for length in lengths], PERMISSIVE)
    longest = decoded(spark, [avro_long(limit) + b"k" * limit + b"\x04u1"], PERMISSIVE)

    assert [(None, None)] * len(lengths) == found
    assert [("k" * limit, "u1")] == longest
    array = json.dumps(
        {"type": "record", "name": "A", "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}]}
    )
    counts = spark.createDataFrame([(bytearray(avro_long(count)),) for count in (limit, *lengths)], "data binary")
    assert [(None,)] * (1 + len(lengths)) == [
        tuple(row.a) for row in counts.select(from_avro("data", array, PERMISSIVE).alias("a")).collect()
    ]
    assert AVRO_LIMITS in (ROOT / "references/formats.md").read_text(encoding="utf-8")
    assert all(AVRO_LIMITS in CONFS[name] for name in (JAVA_OPTIONS, EXECUTOR_JAVA_OPTIONS))


WITHOUT_LIMITS = """
from spark_rtm.services.packages import avro_jars
from spark_rtm.services.spark import build_session
from tests.pages import test_formats

confs = {"spark.driver.memory": "512m", "spark.driver.extraJavaOptions": "-Da=b", "spark.jars": str(avro_jars()[0])}
spark = build_session("without limits", slots=1, confs=confs)
test_formats.decoded(spark, [test_formats.avro_long(400_000_000) + b"k1"], test_formats.PERMISSIVE)
"""


@pytest.mark.timeout(200)
def test_record_of_seven_bytes_exhausts_the_heap_without_the_limits() -> None:
    command = [sys.executable, "-c", WITHOUT_LIMITS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180)

    assert 0 != done.returncode
    assert "java.lang.OutOfMemoryError: Java heap space" in done.stderr


def test_nullable_column_needs_a_union(spark: SparkSession) -> None:
    row = spark.sql("select named_struct('click_id', 'k1', 'user_id', if(rand() < 2, null, 'u1')) as click")

    with pytest.raises(Exception, match=r"null|Null"):
        row.select(to_avro("click", SCHEMA)).collect()


def test_json_reader_ignores_new_fields_and_reads_null_for_lost_ones(spark: SparkSession) -> None:
    texts = ['{"id":1,"name":"a","more":true}', '{"name":"a"}', '{"id":"one","name":"a"}']
    rows = spark.createDataFrame([(text,) for text in texts], "value string")
    options = {"columnNameOfCorruptRecord": "corrupt"}

    read = rows.select(F.from_json("value", "id long, name string, corrupt string", options).alias("j"))

    assert [(1, "a", None), (None, "a", None), (None, "a", texts[2])] == [tuple(row.j) for row in read.collect()]
    kept = rows.selectExpr("variant_get(try_parse_json(value), '$.more', 'boolean') as more").collect()
    assert [True, None, None] == [row.more for row in kept]


def click_of(versions: tuple[int, ...]) -> Column:
    head, data = F.expr("hex(substring(value, 1, 5))"), F.expr("substring(value, 6)")
    options = {**PERMISSIVE, "avroSchema": SCHEMAS[max(versions)]}
    return F.coalesce(*(F.when(head == f"00{v:08X}", from_avro(data, SCHEMAS[v], options)) for v in versions))


def stop_after_commit(job: ModeJob, query: StreamingQuery) -> None:
    commits = job.checkpoint / "commits"
    committed = newest_entry(commits)
    eventually(lambda: newest_entry(commits) > committed + 1, 60, "two commits")
    stop_completely(job.spark, query)


@pytest.mark.services
@pytest.mark.side_by_side
def test_new_schema_goes_to_the_reject_topic_until_the_restart(job: ModeJob) -> None:
    """The old query rejects schema 2; the new query continues on its checkpoint and accepts the record when resent."""
    good, bad = job.target, new_topic(job.kafka, 1)
    records = [(0, avro_click(1, "k1", "u1")), (0, avro_click(2, "k2", "u2") + b"\x04NL")]

    def start(*versions: int) -> StreamingQuery:
        rows = job.rows().withColumn("click", click_of(versions))
        known = F.col("click.click_id").isNotNull()
        value = F.when(known, F.to_json("click").cast("binary")).otherwise(F.col("value"))
        routed = rows.select(value.alias("value"), F.when(known, good).otherwise(bad).alias("topic"))
        return start_to_kafka(routed, job.kafka, job.checkpoint)

    for versions, expected in (((1,), (1, 1)), ((1, 2), (3, 1))):
        query = start(*versions)
        produce(job.kafka, job.source, records)
        wait_until(
            lambda: tuple(end_offset(job.kafka, topic) for topic in (good, bad)) == expected,  # noqa: B023
            *(60, "the records", [query]),
        )
        stop_after_commit(job, query)

    first, *later = map(json.loads, texts_of(job.kafka, good))
    assert {"click_id": "k1", "user_id": "u1"} == first
    old = first | {"country": "none"}
    assert [old, {"click_id": "k2", "user_id": "u2", "country": "NL"}] == later


@pytest.mark.services
@pytest.mark.side_by_side
def test_state_survives_a_new_field_but_not_a_new_aggregate(job: ModeJob) -> None:
    """The counts continue after the restart with schema 2; an aggregate over the new field is refused."""
    new = avro_click(2, "k2", "u1") + b"\x04NL"

    def start(record: bytes, versions: tuple[int, ...], *aggregates: Column) -> StreamingQuery:
        clicks = job.rows().select(click_of(versions).alias("click")).select("click.*")
        counts = clicks.groupBy("user_id").agg(F.count("*").alias("n"), *aggregates)
        # All columns are written, because Spark removes unused aggregates.
        query = job.copy(counts.select(F.concat_ws(":", *counts.columns).alias("value")))
        produce(job.kafka, job.source, [(0, record)])
        return query

    for record, versions, counts in ((avro_click(1, "k1", "u1"), (1,), ["u1:1"]), (new, (1, 2), ["u1:1", "u1:2"])):
        query = start(record, versions)
        wait_until(lambda: written(job) == counts, 60, f"{counts}", [query])  # noqa: B023
        stop_after_commit(job, query)

    query = start(new, (1, 2), F.max("country").alias("country"))
    error = eventually(query.exception, 60, "the refusal")
    assert error is not None
    assert "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE" == name_of(error)
