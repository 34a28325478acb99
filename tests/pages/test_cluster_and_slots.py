import json
import re
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from scripts.pack import files
from spark_rtm.realtime.queries import QueryFailedError, wait_until
from spark_rtm.realtime.slots import slots_needed
from spark_rtm.services.spark import CONFS
from spark_rtm.text import markdown
from tests.conftest import SLOTS
from tests.helpers import add_partition, kafka_rows, new_topic, start_to_kafka

PAGE = files.ROOT / "references" / "cluster_and_slots.md"
NO_BROKER = "127.0.0.1:1"
QUERY = itemgetter("query")
CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("slot_cases.json").read_text())
# Spark checks no slots for a query without a shuffle.
REFUSED_CASES = [case for case in CASES if case["slots_needed"] > max(SLOTS, case["source_partitions"])]


def stream_of(spark: SparkSession, case: dict[str, Any], kafka: str = NO_BROKER, topic: str = "any") -> DataFrame:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", case["shuffle_partitions"])
    stream = kafka_rows(session, kafka, topic).select("key", "value")
    for partitions in case["repartitions"]:
        stream = stream.repartition(partitions)
    if case["stateful_stages"] == 2:
        stream = stream.dropDuplicates(["key"])
    return stream.groupBy("value").count().select("value") if case["stateful_stages"] else stream


def test_slot_table_equals_the_case_file() -> None:
    [table] = [t for t in markdown.tables(PAGE.read_text(encoding="utf-8")) if t.header[0] == "query"]
    shown = [
        {**case, "repartitions": sum(case["repartitions"]) or "-", "slots_needed": f"**{case['slots_needed']}**"}
        for case in CASES
    ]

    assert [tuple(map(str, case.values())) for case in shown] == [cells[:-1] for _, cells in table.rows]


@pytest.mark.parametrize("case", CASES, ids=QUERY)
def test_slots_needed_equals_the_number_in_the_table(spark: SparkSession, case: dict[str, Any]) -> None:
    assert case["slots_needed"] == case["queries"] * slots_needed(stream_of(spark, case), case["source_partitions"])


@pytest.mark.services
@pytest.mark.parametrize("case", REFUSED_CASES, ids=QUERY)
def test_spark_requires_the_slots_in_the_table(
    spark: SparkSession, kafka: str, tmp_path: Path, case: dict[str, Any]
) -> None:
    topic = new_topic(kafka, case["source_partitions"])
    rows = stream_of(spark, case, kafka, topic)

    query = start_to_kafka(rows, kafka, tmp_path / "large", topic=new_topic(kafka, 1))

    with pytest.raises(QueryFailedError, match=f"it needs {case['slots_needed']} concurrent task slots") as refused:
        wait_until(lambda: False, 60, "the refusal", [query])
    assert "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT" == refused.value.condition


@pytest.mark.services
def test_new_partitions_without_slots_end_a_query_with_a_shuffle(
    spark: SparkSession, kafka: str, tmp_path: Path
) -> None:
    """A query without a shuffle would leave partitions unread."""
    source = new_topic(kafka, 1)
    counts = kafka_rows(spark, kafka, source).groupBy("value").count().selectExpr("string(count) as value")
    query = start_to_kafka(counts, kafka, tmp_path / "counts", topic=new_topic(kafka, 1))
    wait_until(lambda: query.lastProgress, 60, "a batch", [query])

    add_partition(kafka, source, SLOTS)

    with pytest.raises(QueryFailedError, match="CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT"):
        wait_until(lambda: False, 60, "the refusal", [query])


def test_session_to_copy_has_the_settings_of_the_pack() -> None:
    """The block imports only PySpark, and differs from `build_session` in no setting that both have."""
    [code] = [f.code for f in markdown.fences(PAGE.read_text(encoding="utf-8")) if "SparkSession.builder" in f.code]
    pairs = re.findall(r'^    f?"(\S+)": "(.*)",$', code, re.MULTILINE)
    shown = {name.replace("{state}", "spark.sql.streaming.stateStore"): value for name, value in pairs}

    assert ["from pyspark.sql import SparkSession"] == re.findall(r"^.*import .*$", code, re.MULTILINE)
    assert 7 == len(shown)
    assert {} == {name: value for name, value in shown.items() if value not in CONFS.get(name, value)}
