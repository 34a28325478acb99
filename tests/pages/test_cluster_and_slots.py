"""Claims of the page on clusters and slots: slot counts, starved partitions, rows per second of a task."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from examples.realtime.queries import QueryFailedError, wait_until
from examples.realtime.slots import slots_needed
from scripts.pack import files
from scripts.text import markdown
from tests.conftest import SLOTS
from tests.helpers import end_offset, eventually, new_topic, produce

PAGE = files.ROOT / "references" / "cluster_and_slots.md"
NO_BROKER = "127.0.0.1:1"
# Records per second and source task that the sizing table of the page assumes.
STATELESS_RATE, STATEFUL_RATE = 1_000, 250


@dataclass(frozen=True)
class Case:
    """A query of the page's table, as described in `slot_cases.json`."""

    query: str
    source_partitions: int
    repartitions: list[int]
    shuffle_partitions: int
    stateful_stages: int
    queries: int
    slots_needed: int

    def __str__(self) -> str:
        """Return the id of the case in test reports."""
        return self.query


CASES = [Case(**fields) for fields in json.loads(Path(__file__).with_name("slot_cases.json").read_text())]

# Spark checks no slots for a query without a shuffle.
REFUSED_CASES = [case for case in CASES if case.slots_needed > max(SLOTS, case.source_partitions)]


def read(session: SparkSession, kafka: str, topic: str, **options: str) -> DataFrame:
    """Return a stream of the keys and values of a topic."""
    source = session.readStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("subscribe", topic)
    return source.option("startingOffsets", "earliest").options(**options).load().select("key", "value")


def stream_of(spark: SparkSession, case: Case, kafka: str = NO_BROKER, topic: str = "any") -> DataFrame:
    """Build the query of a case in a separate session with the shuffle partitions of the case."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", case.shuffle_partitions)
    stream = read(session, kafka, topic)
    for partitions in case.repartitions:
        stream = stream.repartition(partitions)
    if case.stateful_stages == 2:
        stream = stream.dropDuplicates(["key"])
    return stream.groupBy("value").count().select("value") if case.stateful_stages else stream


def start(stream: DataFrame, kafka: str, target: str, checkpoint: Path, interval: str = "2 seconds") -> StreamingQuery:
    """Start a query in real-time mode."""
    writer = stream.writeStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("topic", target)
    writer = writer.outputMode("update").option("checkpointLocation", str(checkpoint)).queryName(checkpoint.name)
    query: StreamingQuery = writer.trigger(realTime=interval).start()  # type: ignore[call-overload]  # not in its hints
    return query


def rows(title: str) -> list[tuple[str, ...]]:
    """Return the rows of the first table below a heading of the page."""
    text = PAGE.read_text(encoding="utf-8")
    line = next(heading.line for heading in markdown.headings(text) if heading.title == title)
    table = next(table for table in markdown.tables(text) if table.line > line)
    return [cells for _, cells in table.rows]


def function_of_page(name: str) -> Callable[..., Any]:
    """Return a function that is defined in a code block of the page on debugging."""
    page = PAGE.with_name("debugging.md").read_text(encoding="utf-8")
    code = next(fence.code for fence in markdown.fences(page) if f"def {name}(" in fence.code)
    names: dict[str, Any] = {}
    exec(code, names)
    function: Callable[..., Any] = names[name]
    return function


def test_slot_table_equals_the_case_file() -> None:
    """The table of the page and the slot calculator use the same cases."""
    expected = []
    for case in CASES:
        counts = (case.source_partitions, sum(case.repartitions) or "-", case.shuffle_partitions, case.stateful_stages)
        expected.append((case.query, *map(str, counts), str(case.queries), f"**{case.slots_needed}**"))

    assert expected == [cells[:-1] for cells in rows("Worked examples")]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_slot_formula_gives_the_number_in_the_table(case: Case) -> None:
    """The formula adds source partitions, repartitions and shuffle partitions per stateful stage, for each query."""
    stateful = case.shuffle_partitions * case.stateful_stages

    assert case.slots_needed == case.queries * (case.source_partitions + sum(case.repartitions) + stateful)


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=str)
def test_slots_needed_equals_the_number_in_the_table(spark: SparkSession, case: Case) -> None:
    """The preflight check derives the number in the table from the plan."""
    assert case.slots_needed == case.queries * slots_needed(stream_of(spark, case), case.source_partitions)


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.parametrize("case", REFUSED_CASES, ids=str)
def test_spark_requires_the_slots_in_the_table(spark: SparkSession, kafka: str, tmp_path: Path, case: Case) -> None:
    """Spark refuses a query that needs too many slots, and its message has the number in the table."""
    topic = new_topic(kafka, case.source_partitions)

    query = start(stream_of(spark, case, kafka, topic), kafka, new_topic(kafka, 1), tmp_path / "large")

    with pytest.raises(QueryFailedError, match=f"it needs {case.slots_needed} concurrent task slots") as refused:
        wait_until(lambda: False, 60, "the refusal", [query])
    assert "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT" == refused.value.condition


@pytest.mark.spark
@pytest.mark.services
def test_max_partitions_has_no_effect_on_oss(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """OSS accepts `maxPartitions`, and each partition still needs one slot."""
    packed = read(spark, kafka, new_topic(kafka, SLOTS), maxPartitions="1")

    query = start(packed.groupBy("value").count().select("value"), kafka, new_topic(kafka, 1), tmp_path / "packed")

    with pytest.raises(QueryFailedError, match=f"it needs {SLOTS + 2} concurrent task slots"):
        wait_until(lambda: False, 60, "the refusal", [query])


@pytest.mark.spark
@pytest.mark.services
def test_code_of_page_finds_starved_partitions(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """With two partitions too many, two are never read without an error, and two progress events show which ones."""
    partitions = SLOTS + 2
    source, target = new_topic(kafka, partitions), new_topic(kafka, 1)
    one_each = [(partition, b"value") for partition in range(partitions)]
    produce(kafka, source, one_each)

    query = start(read(spark, kafka, source).select("value"), kafka, target, tmp_path / "starving")
    eventually(lambda: end_offset(kafka, target) == SLOTS and query.lastProgress, 60, "a record of each slot")
    before = query.recentProgress[-1].sources[0].endOffset
    produce(kafka, source, one_each)
    eventually(lambda: end_offset(kafka, target) == 2 * SLOTS, 60, "a second record of each slot")
    batches = len(query.recentProgress)
    eventually(lambda: len(query.recentProgress) > batches, 60, "the end of its batch")
    after = query.recentProgress[-1].sources[0].endOffset

    newest = json.dumps({source: dict.fromkeys(map(str, range(partitions)), 2)})
    silent = [f"{source}-{partition}" for partition, end in json.loads(after)[source].items() if end == 0]
    assert 2 == len(silent)
    assert sorted(silent) == sorted(function_of_page("starved")(before, after, newest))
    assert query.isActive
    assert query.exception() is None


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.parametrize(
    ("stateful", "rate"), [(False, STATELESS_RATE), (True, STATEFUL_RATE)], ids=["stateless", "stateful"]
)
def test_source_task_handles_the_rate_of_the_sizing_table(
    spark: SparkSession, kafka: str, tmp_path: Path, stateful: bool, rate: int
) -> None:
    """Two tasks process a backlog faster than the sizing table assumes."""
    count, tasks = 16_000, 2
    source, target = new_topic(kafka, tasks), new_topic(kafka, 1)
    stream = read(spark, kafka, source).select("value")
    counted = stream.groupBy("value").count().select(F.col("count").cast("string").alias("value"))
    query = start(counted if stateful else stream, kafka, target, tmp_path / "loaded", "5 minutes")
    produce(kafka, source, [(partition, b"warm") for partition in range(tasks)])
    wait_until(lambda: end_offset(kafka, target) == tasks, 60, "the first records", [query])

    began = time.monotonic()
    produce(kafka, source, [(number % tasks, f"value {number % 100}".encode()) for number in range(count)])
    wait_until(lambda: end_offset(kafka, target) == tasks + count, 60, "the backlog", [query])

    assert rate <= count / tasks / (time.monotonic() - began)


def test_sizing_table_follows_from_its_rates() -> None:
    """The number of tasks is the rate divided by the rate per task; state partitions double the slots."""
    for rate, *cells, _ in rows("Cluster size for a record rate"):
        records = int(rate.replace(",", ""))
        stateless, tasks = math.ceil(records / STATELESS_RATE), math.ceil(records / STATEFUL_RATE)

        assert [stateless, tasks, 2 * tasks, math.ceil(2 * tasks / 16)] == [int(cell) for cell in cells]
