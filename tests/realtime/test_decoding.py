"""A query that decodes JSON keeps its state over restarts, although each run uses a different end mark."""

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark_rtm.kafka.consumer import read_topic
from spark_rtm.realtime.decoding import first_reason, parse, reasons_of_form
from tests.attribution.hops import Hop
from tests.helpers import new_topic, produce

pytestmark = [pytest.mark.spark, pytest.mark.services]

CLICK = StructType([StructField("id", StringType()), StructField("at", LongType())])


def first_clicks(records: DataFrame) -> DataFrame:
    decoded = parse(records, CLICK, "click").withColumn("reason", first_reason(reasons_of_form("click", ["id"])))
    name = F.when(F.col("reason").isNull(), F.col("click.id")).otherwise(F.col("src"))
    first = decoded.withColumn("name", name).dropDuplicates(["name"])
    outcome = F.coalesce("reason", F.lit("good"))
    return first.select(F.col("name").cast("binary").alias("key"), outcome.cast("binary").alias("value"))


def click(click_id: str) -> bytes:
    return json.dumps({"id": click_id, "at": 1}).encode()


def test_restart_with_another_end_mark_keeps_the_state(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    source = new_topic(kafka, 1)
    before = Hop(spark, kafka, first_clicks, tmp_path, [source])
    produce(kafka, source, [(0, click("a")), (0, click("z") + b"]tail")])
    before.run()
    before.wait(before.has_committed, "a commit of the state")
    before.query.stop()

    produce(kafka, source, [(0, click("a")), (0, click("b")), (0, click("z") + b',"end"]tail')])
    after = Hop(spark, kafka, first_clicks, tmp_path, [source], before.target)
    after.run()
    records = read_topic(kafka, before.target, min_records=4)

    rejected = [(f"{source}:0:{n:012d}".encode(), b"not_json") for n in (1, 4)]
    expected = [(b"a", b"good"), (b"b", b"good"), *rejected]
    assert expected == sorted((record.key() or b"", record.value() or b"") for record in records)
