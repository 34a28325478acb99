"""The page on state: what removes state and when, when a row is late, when a timer fires."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from examples.realtime.slots import raise_if_failed, wait_until
from examples.services.scala import scala_object
from scripts.pack import files
from scripts.text import markdown
from tests.helpers import new_topic
from tests.pages.bench import Bench, in_real_time, open_bench, send

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

PAGE = files.ROOT / "references" / "state.md"
PROCESSORS = Path(__file__).with_name("processors.scala")
TTL_MS = 5_000
MINUTE_MS = 60_000
DEADLINE_SECONDS = 90.0
# Long enough that what follows a commit at once is in the next batch.
WATCHED = "6 seconds"


@pytest.fixture
def bench(spark: SparkSession, kafka: str, tmp_path: Path) -> Bench:
    """Return a bench whose source topic is empty."""
    return open_bench(spark, kafka, new_topic(kafka, 1), tmp_path)


@pytest.fixture(scope="session")
def silence(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[DataFrame], DataFrame]:
    """Return the processor of the page, compiled from its own text."""
    source = tmp_path_factory.mktemp("scala") / "silence.scala"
    source.write_text(next(f.code for f in markdown.fences(PAGE.read_text("utf-8")) if f.language == "scala"))
    return in_python(scala_object(spark, source, "state.Silence").of)


@pytest.fixture(scope="session")
def processors(spark: SparkSession) -> Any:
    """Return the processors of these tests."""
    return scala_object(spark, PROCESSORS, "processors.Processors")


def in_python(method: Callable[..., Any]) -> Callable[..., DataFrame]:
    """Return a Scala function of DataFrames as one that Python can call."""

    def applied(rows: DataFrame, *arguments: Any) -> DataFrame:
        plain = (a._jdf if isinstance(a, DataFrame) else a for a in (rows, *arguments))  # noqa: SLF001 - for Scala
        return DataFrame(method(*plain), rows.sparkSession)

    return applied


def counted(bench: Bench) -> DataFrame:
    """Return the rows counted per key and minute of event time."""
    return bench.timed().groupBy("k", F.window("at", "1 minute")).count().select("k", "count")


def start(bench: Bench, stream: DataFrame, interval: str) -> StreamingQuery:
    """Start a stream in real-time mode with this interval."""
    return in_real_time(bench.write(stream), interval).start()


def wait_for(query: StreamingQuery, fact: Callable[[], object], what: str) -> None:
    """Wait for a fact; a failure of the query ends the wait."""
    wait_until(fact, DEADLINE_SECONDS, what, [query])


def wait_for_text(bench: Bench, query: StreamingQuery, *texts: str) -> None:
    """Wait until the target holds exactly these texts."""
    wait_for(query, lambda: list(texts) == bench.texts(), f"{texts}, and not {bench.texts()}")


def wait_for_commit(query: StreamingQuery, rows: int) -> None:
    """Wait until the committed batches hold this many rows."""
    wait_for(query, lambda: rows <= sum(p.numInputRows for p in query.recentProgress), f"a commit of {rows} rows")


def state(query: StreamingQuery, name: str) -> list[int]:
    """Return a number of the stateful operator for each committed batch."""
    return [getattr(p.stateOperators[0], name) for p in query.recentProgress if p.stateOperators]


def test_row_behind_the_watermark_counts_until_the_batch_after_next(bench: Bench) -> None:
    """The watermark moves between batches, the filter of late rows one batch later, and then state goes."""
    query = start(bench, counted(bench), WATCHED)
    send(bench.kafka, bench.topic, [("a", 1), ("a", 100), ("a", 1)])
    wait_for_text(bench, query, "a 1", "a 1", "a 2")

    wait_for_commit(query, 3)
    bench.send("a", 1)
    wait_for_text(bench, query, "a 1", "a 1", "a 2", "a 3")
    wait_for_commit(query, 4)
    bench.send("a", 1)
    wait_for(query, lambda: 1 == sum(state(query, "numRowsDroppedByWatermark")), "a dropped row")

    assert ["a 1", "a 1", "a 2", "a 3"] == bench.texts()
    assert 1 == sum(state(query, "numRowsRemoved"))
    assert 1 == state(query, "numRowsTotal")[-1]


def test_keys_without_event_time_stay_for_ever(bench: Bench) -> None:
    """With the event time among its columns `dropDuplicates` forgets; without it, it keeps each key."""
    lasting = bench.with_empty_target()
    forgetting = start(bench, bench.timed().dropDuplicates(["k", "at"]).select("k", "n"), "2 seconds")
    keeping = start(lasting, lasting.timed().dropDuplicates(["k"]).select("k", "n"), "2 seconds")
    send(bench.kafka, bench.topic, [("a", 1), ("b", 2), ("a", 1), ("c", 100)])

    wait_for(forgetting, lambda: state(forgetting, "numRowsTotal")[-1:] == [1], "state of the newest row only")
    wait_for_commit(keeping, 4)
    for batch in range(3):
        bench.send("d", 200 + batch)
        wait_for_commit(keeping, 5 + batch)

    assert ["a 1", "b 2", "c 100"] == bench.texts()[:3]
    assert (4, 0) == (state(keeping, "numRowsTotal")[-1], sum(state(keeping, "numRowsRemoved")))


def test_counts_leave_in_the_order_of_their_rows(bench: Bench) -> None:
    """Each row makes one result, and the results of a key are in the order of its rows."""
    query = start(bench, bench.rows().groupBy("k").count(), "10 minutes")

    send(bench.kafka, bench.topic, [("abc"[number % 3], number) for number in range(30)])

    wait_for(query, lambda: 30 == len(bench.texts()), "30 results")
    expected = {key: [f"{key} {count}" for count in range(1, 11)] for key in "abc"}
    assert expected == {key: [text for text in bench.texts() if text[0] == key] for key in "abc"}


def test_state_partitions_of_a_checkpoint_stay(bench: Bench) -> None:
    """A restart with another number of shuffle partitions keeps the number that the checkpoint began with."""
    checkpoint = bench.new_folder()
    numbers = []
    for rows, partitions in enumerate(("1", "3"), 1):
        bench.spark.conf.set("spark.sql.shuffle.partitions", partitions)
        stream = bench.rows().groupBy("k").count()
        query = in_real_time(bench.write(stream, {"checkpointLocation": checkpoint}), "2 seconds").start()
        bench.send("a", rows)
        wait_for_commit(query, 1)
        numbers.append(state(query, "numShufflePartitions")[-1])
        query.stop()

    assert [1, 1] == numbers
    assert "a 2" == bench.texts()[-1]


def test_due_timer_waits_for_the_next_row(bench: Bench, silence: Callable[[DataFrame], DataFrame]) -> None:
    """Each call gets one row; a due timer fires with the next row of its partition, whatever its key."""
    query = start(bench, silence(bench.rows().select("k")), "10 minutes")
    send(bench.kafka, bench.topic, [("a", 1), ("a", 2), ("a", 3)])
    wait_for_text(bench, query, "a 1 1", "a 2 1", "a 3 1")
    due = time.monotonic() + 1
    wait_for(query, lambda: time.monotonic() > due + 1, "the timer to be overdue")
    assert ["a 1 1", "a 2 1", "a 3 1"] == bench.texts()

    bench.send("tick", 1)

    wait_for(query, lambda: 5 == len(bench.texts()), "the tick and the timer")
    assert {"tick 1 1", "a silent"} == set(bench.texts()[3:])


def test_due_timer_without_rows_fires_at_the_end_of_the_batch(
    bench: Bench, silence: Callable[[DataFrame], DataFrame]
) -> None:
    """Without input a timer comes when the batch ends, however long that is."""
    query = start(bench, silence(bench.rows().select("k")), WATCHED)

    bench.send("a", 1)

    wait_for_text(bench, query, "a 1 1", "a silent")
    raise_if_failed([query])


def test_micro_batch_gives_a_call_all_rows_of_its_key(bench: Bench, silence: Callable[[DataFrame], DataFrame]) -> None:
    """The same processor gets three rows in one call, so it must not take the number of rows for the mode."""
    send(bench.kafka, bench.topic, [("a", 1), ("a", 2), ("a", 3)])

    query = bench.write(silence(bench.rows().select("k"))).trigger(availableNow=True).start()

    wait_for(query, lambda: "a 3 3" in bench.texts(), "one call for three rows")
    assert "a 3 3" == bench.texts()[0]


def test_state_with_ttl_goes_inside_the_batch(bench: Bench, processors: Any) -> None:
    """Value, list and map state end by the live clock, without a row that says so."""
    stream = in_python(processors.fading)(bench.rows().select("k"), TTL_MS)
    query = start(bench, stream, "10 minutes")
    send(bench.kafka, bench.topic, [("a", 1), ("a", 2)])
    wait_for_text(bench, query, "a 1 1 1", "a 2 2 2")
    gone = time.monotonic() + TTL_MS / 1000

    wait_for(query, lambda: time.monotonic() > gone, "the end of the state's time")
    bench.send("a", 3)

    wait_for_text(bench, query, "a 1 1 1", "a 2 2 2", "a 1 1 1")
    assert query.lastProgress is None


def test_event_time_timer_fires_in_the_batch_after_the_watermark_has_passed_it(bench: Bench, processors: Any) -> None:
    """A row that moves the watermark fires nothing in its own batch, nor does a row behind it."""
    query = start(bench, in_python(processors.overdue)(bench.timed().select("k", "at")), WATCHED)
    send(bench.kafka, bench.topic, [("a", 1), ("z", 100), ("b", 100)])

    wait_for_text(bench, query, "a 0", "z 0", "b 0", f"a {99 * MINUTE_MS} due {2 * MINUTE_MS}")


def test_initial_state_is_there_before_the_first_row(bench: Bench, processors: Any) -> None:
    """A key goes on from the number that it was given, and a key without one begins."""
    initial = bench.spark.createDataFrame([("a", 100), ("c", 7)], "_1 string, _2 long")
    query = start(bench, in_python(processors.continued)(bench.rows().select("k"), initial), "10 minutes")

    send(bench.kafka, bench.topic, [("a", 1), ("b", 1), ("a", 1)])

    wait_for_text(bench, query, "a 101", "b 1", "a 102")
