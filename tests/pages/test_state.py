import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.realtime.queries import wait_until
from spark_rtm.services.scala import scala_object
from tests.pages.operator_probe import OperatorProbe, in_real_time, send

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240), pytest.mark.side_by_side]

TTL_MS, MINUTE_MS = 5_000, 60_000
# Long enough for rows that are sent directly after a commit to reach the next batch.
BATCH, ENDLESS = "6 seconds", "10 minutes"
# The timer of the processor `silence` is due after this time. Rows that are sent together are processed long before it.
SILENCE_SECONDS = 3

Streams = Mapping[str, Callable[..., DataFrame]]


@pytest.fixture(scope="module")
def scala(spark: SparkSession) -> Streams:
    processors = scala_object(spark, Path(__file__).with_name("processors.scala"), "processors.Processors")
    return {name: in_python(getattr(processors, name)) for name in ("silence", "fading", "overdue", "continued")}


def in_python(method: Callable[..., Any]) -> Callable[..., DataFrame]:
    def applied(rows: DataFrame, *arguments: Any) -> DataFrame:
        java_arguments = (a._jdf if isinstance(a, DataFrame) else a for a in (rows, *arguments))  # noqa: SLF001 - for Scala
        return DataFrame(method(*java_arguments), rows.sparkSession)

    return applied


def start(probe: OperatorProbe, stream: DataFrame, interval: str) -> StreamingQuery:
    return in_real_time(probe.write(stream), interval).start()


def wait_for(query: StreamingQuery, is_true: Callable[[], object], what: str) -> None:
    wait_until(is_true, 90, what, [query])


def wait_for_text(probe: OperatorProbe, query: StreamingQuery, *texts: str) -> None:
    try:
        wait_for(query, lambda: list(texts) == probe.texts(), f"{texts}")
    except TimeoutError as error:
        error.add_note(f"The topic contains {probe.texts()}; the query: {query.status}, {query.lastProgress}")
        raise


def wait_for_commit(query: StreamingQuery, rows: int) -> None:
    wait_for(query, lambda: rows <= sum(p.numInputRows for p in query.recentProgress), f"a commit of {rows} rows")


def wait_for_time(query: StreamingQuery, seconds: float) -> None:
    due = time.monotonic() + seconds
    wait_for(query, lambda: time.monotonic() > due, "a time")


def state_metric(query: StreamingQuery, name: str) -> list[int]:
    return [getattr(p.stateOperators[0], name) for p in query.recentProgress if p.stateOperators]


def test_row_behind_watermark_counts_until_two_batches_later(probe: OperatorProbe) -> None:
    counted = probe.timed().groupBy("k", F.window("at", "1 minute")).count().select("k", "count")
    query = start(probe, counted, BATCH)

    send(probe.kafka, probe.topic, [("a", 1), ("a", 100), ("a", 1)])
    wait_for_text(probe, query, "a 1", "a 1", "a 2")
    wait_for_commit(query, 3)
    probe.send("a", 1)
    wait_for_text(probe, query, "a 1", "a 1", "a 2", "a 3")
    wait_for_commit(query, 4)
    probe.send("a", 1)
    wait_for(query, lambda: 1 == sum(state_metric(query, "numRowsDroppedByWatermark")), "a dropped row")

    assert ["a 1", "a 1", "a 2", "a 3"] == probe.texts()
    assert 1 == sum(state_metric(query, "numRowsRemoved"))
    assert 1 == state_metric(query, "numRowsTotal")[-1]


def test_keys_without_event_time_stay_forever(probe: OperatorProbe) -> None:
    second_probe = probe.with_empty_target()
    forgetting = start(probe, probe.timed().dropDuplicates(["k", "at"]).select("k", "n"), "2 seconds")
    kept = second_probe.timed().dropDuplicates(["k"]).groupBy("k").count()
    keeping = start(second_probe, kept, "2 seconds")

    send(probe.kafka, probe.topic, [("a", 1), ("b", 2), ("a", 1), ("c", 100)])
    wait_for(forgetting, lambda: state_metric(forgetting, "numRowsTotal")[-1:] == [1], "state of the newest row only")
    wait_for_commit(keeping, 4)
    for batch in range(3):
        probe.send("d", 200 + batch)
        wait_for_commit(keeping, 5 + batch)

    assert ["a 1", "b 2", "c 100"] == probe.texts()[:3]
    operators = [operator for progress in keeping.recentProgress for operator in progress.stateOperators]
    assert [(4, 0)] * 2 == [(last.numRowsTotal, last.numRowsRemoved) for last in operators[-2:]]
    assert 0 == sum(operator.numRowsRemoved for operator in operators)


def test_counts_are_written_in_input_order(probe: OperatorProbe) -> None:
    query = start(probe, probe.rows().groupBy("k").count(), ENDLESS)

    send(probe.kafka, probe.topic, [("abc"[number % 3], number) for number in range(30)])
    wait_for(query, lambda: 30 == len(probe.texts()), "30 results")

    expected = {key: [f"{key} {count}" for count in range(1, 11)] for key in "abc"}
    assert expected == {key: [text for text in probe.texts() if text[0] == key] for key in "abc"}


def test_due_timer_waits_for_the_next_row(probe: OperatorProbe, scala: Streams) -> None:
    """
    Each call receives one row; a due timer fires with the next row of its state partition and any key.

    A row that takes longer than the timer it sets is followed by the timer, without a next row.
    """
    query = start(probe, scala["silence"](probe.rows().select("k")), ENDLESS)

    probe.send("slow", 1)
    wait_for_text(probe, query, "slow 1 1", "slow silent")
    send(probe.kafka, probe.topic, [("a", 1), ("a", 2), ("a", 3)])
    wait_for(query, lambda: "a 3 1" in probe.texts(), "three rows")
    wait_for_time(query, SILENCE_SECONDS + 1)
    assert ["a 1 1", "a 2 1", "a 3 1"] == probe.texts()[2:]
    probe.send("tick", 1)
    wait_for(query, lambda: 7 == len(probe.texts()), "the tick and the timer")

    assert {"tick 1 1", "a silent"} == set(probe.texts()[5:])
    assert query.lastProgress is None


def test_timer_that_fell_due_between_two_runs_waits_for_the_next_row(probe: OperatorProbe, scala: Streams) -> None:
    writer = probe.write(scala["silence"](probe.rows().select("k")))
    first = in_real_time(writer, "2 seconds").start()
    probe.send("a", 1)
    wait_for_commit(first, 1)
    first.stop()
    wait_for_time(first, SILENCE_SECONDS)

    second = in_real_time(writer, ENDLESS).start()
    probe.send("tick", 1)

    wait_for(second, lambda: {"a 1 1", "a silent", "tick 1 1"} == set(probe.texts()), "the timer")
    assert second.lastProgress is None


def test_state_with_ttl_expires_within_the_batch(probe: OperatorProbe, scala: Streams) -> None:
    query = start(probe, scala["fading"](probe.rows().select("k"), TTL_MS), ENDLESS)

    send(probe.kafka, probe.topic, [("a", 1), ("a", 2)])
    wait_for_text(probe, query, "a 1 1 1", "a 2 2 2")
    wait_for_time(query, TTL_MS / 1000)
    probe.send("a", 3)
    wait_for_text(probe, query, "a 1 1 1", "a 2 2 2", "a 1 1 1")

    assert query.lastProgress is None


def test_event_time_timer_fires_in_batch_after_watermark(probe: OperatorProbe, scala: Streams) -> None:
    query = start(probe, scala["overdue"](probe.timed().select("k", "at")), BATCH)

    send(probe.kafka, probe.topic, [("a", 1), ("z", 100), ("b", 100)])
    wait_for_text(probe, query, "a 0", "z 0", "b 0", f"a {99 * MINUTE_MS} due {2 * MINUTE_MS}")


def test_initial_state_is_loaded_before_the_first_row(probe: OperatorProbe, scala: Streams) -> None:
    initial = probe.spark.createDataFrame([("a", 100), ("c", 7)], "_1 string, _2 long")
    query = start(probe, scala["continued"](probe.rows().select("k"), initial), ENDLESS)

    send(probe.kafka, probe.topic, [("a", 1), ("b", 1), ("a", 1)])
    wait_for_text(probe, query, "a 101", "b 1", "a 102")
