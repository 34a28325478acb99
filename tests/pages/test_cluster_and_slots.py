"""The page on clusters and slots: its numbers, the engine's own count, starvation as it shows, a task's throughput."""

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

from examples.realtime.slots import QueryFailedError, slots_needed, wait_until
from scripts.pack import files
from scripts.text import markdown
from tests.conftest import SLOTS
from tests.helpers import end_offset, eventually, new_topic, produce

PAGE = files.ROOT / "references" / "cluster_and_slots.md"
NO_BROKER = "127.0.0.1:1"
# Records per second and source task, which the sizing table of the page assumes.
STATELESS_RATE, STATEFUL_RATE = 1_000, 250


@dataclass(frozen=True)
class Case:
    """A query of the page's table, as the file of cases describes it."""

    query: str
    source_partitions: int
    repartitions: list[int]
    shuffle_partitions: int
    stateful_stages: int
    queries: int
    slots_needed: int

    def __str__(self) -> str:
        """Name the case in a report."""
        return self.query


CASES = [Case(**fields) for fields in json.loads(Path(__file__).with_name("slot_cases.json").read_text())]

# Of a query without a shuffle Spark checks nothing.
TOO_LARGE = [case for case in CASES if case.slots_needed > max(SLOTS, case.source_partitions)]


def read(session: SparkSession, kafka: str, topic: str, **options: str) -> DataFrame:
    """Return keys and values of a topic."""
    source = session.readStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("subscribe", topic)
    return source.option("startingOffsets", "earliest").options(**options).load().select("key", "value")


def planned(spark: SparkSession, case: Case, kafka: str = NO_BROKER, topic: str = "any") -> DataFrame:
    """Build the query of a case in a session of its own, where its number of shuffle partitions stays."""
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


def function_of_the_page(name: str) -> Callable[..., Any]:
    """Return a function that a code block of the page defines."""
    code = next(
        fence.code for fence in markdown.fences(PAGE.read_text(encoding="utf-8")) if f"def {name}(" in fence.code
    )
    names: dict[str, Any] = {}
    exec(code, names)
    found: Callable[..., Any] = names[name]
    return found


def test_table_of_slots_is_the_file_of_cases() -> None:
    """A reader and a calculator see the same examples."""
    expected = []
    for case in CASES:
        counts = (case.source_partitions, sum(case.repartitions) or "-", case.shuffle_partitions, case.stateful_stages)
        expected.append((case.query, *map(str, counts), str(case.queries), f"**{case.slots_needed}**"))

    assert expected == [cells[:-1] for cells in rows("Worked examples")]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_formula_of_the_page_gives_the_number_of_the_table(case: Case) -> None:
    """Source partitions, repartitions and shuffle partitions of each stateful stage, for each query."""
    stateful = case.shuffle_partitions * case.stateful_stages

    assert case.slots_needed == case.queries * (case.source_partitions + sum(case.repartitions) + stateful)


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=str)
def test_plan_needs_the_slots_of_the_table(spark: SparkSession, case: Case) -> None:
    """The preflight counts in the plan what the table says."""
    assert case.slots_needed == case.queries * slots_needed(planned(spark, case), case.source_partitions)


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.parametrize("case", TOO_LARGE, ids=str)
def test_engine_asks_for_the_slots_of_the_table(spark: SparkSession, kafka: str, tmp_path: Path, case: Case) -> None:
    """What does not fit is refused by Spark, which names the same number."""
    topic = new_topic(kafka, case.source_partitions)

    query = start(planned(spark, case, kafka, topic), kafka, new_topic(kafka, 1), tmp_path / "large")

    with pytest.raises(QueryFailedError, match=f"it needs {case.slots_needed} concurrent task slots") as refused:
        wait_until(lambda: False, 60, "the refusal", [query])
    assert "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT" == refused.value.condition


@pytest.mark.spark
@pytest.mark.services
def test_max_partitions_has_no_effect_on_open_source(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """The option that packs partitions on Databricks is accepted, and every partition still takes a slot."""
    packed = read(spark, kafka, new_topic(kafka, SLOTS), maxPartitions="1")

    query = start(packed.groupBy("value").count().select("value"), kafka, new_topic(kafka, 1), tmp_path / "packed")

    with pytest.raises(QueryFailedError, match=f"it needs {SLOTS + 2} concurrent task slots"):
        wait_until(lambda: False, 60, "the refusal", [query])


@pytest.mark.spark
@pytest.mark.services
def test_starved_partitions_are_found_by_the_code_of_the_page(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """With two partitions more than slots two stay silent without an error, and two progress events tell which."""
    partitions = SLOTS + 2
    source, target = new_topic(kafka, partitions), new_topic(kafka, 1)
    one_each = [(partition, b"value") for partition in range(partitions)]
    produce(kafka, source, one_each)

    query = start(read(spark, kafka, source).select("value"), kafka, target, tmp_path / "starving")
    eventually(lambda: end_offset(kafka, target) == SLOTS and query.lastProgress, 60, "a record of each slot")
    before = query.recentProgress[-1].sources[0].endOffset
    produce(kafka, source, one_each)
    eventually(lambda: end_offset(kafka, target) == 2 * SLOTS, 60, "another one")
    batches = len(query.recentProgress)
    eventually(lambda: len(query.recentProgress) > batches, 60, "the end of its batch")
    after = query.recentProgress[-1].sources[0].endOffset

    newest = json.dumps({source: dict.fromkeys(map(str, range(partitions)), 2)})
    silent = [f"{source}-{partition}" for partition, end in json.loads(after)[source].items() if end == 0]
    assert 2 == len(silent)
    assert sorted(silent) == sorted(function_of_the_page("starved")(before, after, newest))
    assert query.isActive
    assert query.exception() is None


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.parametrize(
    ("stateful", "rate"), [(False, STATELESS_RATE), (True, STATEFUL_RATE)], ids=["stateless", "stateful"]
)
def test_source_task_carries_the_rate_of_the_sizing_table(
    spark: SparkSession, kafka: str, tmp_path: Path, stateful: bool, rate: int
) -> None:
    """A backlog over two partitions leaves faster than the table assumes, on whatever machine runs this."""
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


def test_sizing_table_follows_from_its_basis() -> None:
    """Tasks are the rate divided by what one carries; state partitions double the slots."""
    for rate, *cells, _ in rows("From rate to cluster"):
        records = int(rate.replace(",", ""))
        stateless, tasks = math.ceil(records / STATELESS_RATE), math.ceil(records / STATEFUL_RATE)

        assert [stateless, tasks, 2 * tasks, math.ceil(2 * tasks / 16)] == [int(cell) for cell in cells]
