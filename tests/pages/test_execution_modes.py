from dataclasses import replace
from functools import partial

import pytest
from pyspark.errors import PySparkException

from spark_rtm.realtime.proof import plan_of_query
from spark_rtm.realtime.queries import QueryFailedError, stop_completely, wait_until
from tests.pages.jobs import SINKS, Mode, ModeJob, newest_entry, run_until, send, start, written

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

SCAN_NODES = {
    "micro-batch": "MicroBatchScan",
    "async progress": "MicroBatchScan",
    "continuous": "ContinuousScan",
    "real-time": "RealTimeStreamScan",
}


def is_last(job: ModeJob, value: str) -> bool:
    return written(job)[-1:] == [value]


def refusal(job: ModeJob, mode: Mode) -> str:
    """Return the error with which a job fails, or an empty text if it writes a record."""
    send(job, "a")
    try:
        query = start(job, mode)
        wait_until(lambda: query.lastProgress if {*SINKS} & {*job.shapes} else written(job), 60, "a record", [query])
    except (PySparkException, QueryFailedError) as error:
        return str(error)
    query.stop()
    return ""


COMBINED = ("repartitioned", "timed", "through Python")
NOT_ASYNC = "does not support async progress tracking"
# The tables in sources_sinks_operators.md have what real-time mode refuses.
CASES: list[tuple[Mode, tuple[str, ...], str, str]] = [
    ("micro-batch", COMBINED, "append", ""),
    ("micro-batch", ("counted",), "update", ""),
    ("micro-batch", ("foreachBatch",), "update", ""),
    ("async progress", COMBINED, "append", ""),
    ("async progress", ("counted",), "update", NOT_ASYNC),
    ("async progress", ("foreachBatch",), "update", NOT_ASYNC),
    ("async progress", ("foreach",), "append", ""),
    ("async progress", ("console",), "append", ""),
    ("async progress", ("files",), "append", NOT_ASYNC),
    ("continuous", ("through Python",), "append", ""),
    ("continuous", ("counted",), "update", "does not support Aggregate"),
    ("continuous", ("repartitioned",), "update", "does not support Repartition"),
    ("continuous", ("timed",), "update", "does not support current time"),
    ("continuous", ("foreachBatch",), "update", "not supported with continuous trigger"),
    ("real-time", ("repartitioned", "timed", "counted"), "update", ""),
]


@pytest.mark.parametrize(("mode", "shapes", "output_mode", "expected"), CASES, ids=str)
def test_mode_runs_or_refuses_a_query(
    job: ModeJob, mode: Mode, shapes: tuple[str, ...], output_mode: str, expected: str
) -> None:
    reason = refusal(replace(job, shapes=shapes, output_mode=output_mode), mode)

    assert bool(expected) == bool(reason), reason
    assert expected in reason


REPEATED: dict[Mode, list[str]] = {
    "micro-batch": [],
    "async progress": ["b"],  # the first batch of a run is always committed
    "continuous": ["a", "b"],
    "real-time": ["a", "b"],
}


@pytest.mark.side_by_side
@pytest.mark.parametrize(("mode", "repeated"), REPEATED.items(), ids=REPEATED)
def test_plan_shows_the_mode_and_a_restart_repeats_uncommitted_rows(
    job: ModeJob, mode: Mode, repeated: list[str]
) -> None:
    """Except in micro-batch mode, a stop between the write and the commit of a row repeats the row after a restart."""
    send(job, "first")
    run_until(job, mode, 1)
    committed = newest_entry(job.checkpoint / "commits")
    query = start(job, mode, "3600 seconds")
    if mode == "continuous":
        # An epoch ends directly after the start, and would contain a record that is there already.
        wait_until(lambda: newest_entry(job.checkpoint / "commits") > committed, 60, "the first epoch", [query])
    for value in "ab":
        send(job, value)
        wait_until(partial(is_last, job, value), 60, f"{value!r} in the target", [query])
    if mode == "micro-batch":
        query.processAllAvailable()
    assert SCAN_NODES[mode] in plan_of_query(query)
    engine = query._jsq.streamingQuery().getClass().getName()  # noqa: SLF001 - not public
    assert (mode in ("async progress", "real-time")) == ("AsyncProgressTracking" in engine), engine
    stop_completely(job.spark, query)
    send(job, "c")

    restarted = start(job, mode, "3600 seconds")

    wait_until(partial(is_last, job, "c"), 60, "'c' in the target", [restarted])
    assert ["first", "a", "b", *repeated, "c"] == written(job)


def test_log_is_purged_in_the_background_by_default(job: ModeJob) -> None:
    assert "true" == job.spark.conf.get("spark.sql.streaming.asyncLogPurge.enabled")
    assert "100" == job.spark.conf.get("spark.sql.streaming.minBatchesToRetain")


@pytest.mark.side_by_side
def test_row_can_be_written_after_stop_has_returned(job: ModeJob) -> None:
    query = start(replace(job, shapes=("slow for b",)), "real-time", "3600 seconds")
    send(job, "a", "b")
    wait_until(partial(is_last, job, "a"), 60, "'a' in the target", [query])

    query.stop()
    before = written(job)
    stop_completely(job.spark, query)

    assert ["a"] == before
    assert ["a", "b"] == written(job)
