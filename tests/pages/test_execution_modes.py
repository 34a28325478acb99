"""The page on execution modes: what shows in the plan, what each mode accepts, and what a stop repeats."""

from dataclasses import replace
from functools import partial

import pytest
from pyspark.errors import PySparkException

from examples.realtime.slots import CONDITION, QueryFailedError, stop_completely, wait_until
from tests.pages.jobs import MODES, Job, Mode, run_until, send, start, written

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(180)]

LEAVES = {
    "micro-batch": "MicroBatchScan",
    "async progress": "MicroBatchScan",
    "continuous": "ContinuousScan",
    "real-time": "RealTimeStreamScan",
}


def is_last(job: Job, value: str) -> bool:
    """Tell whether a value is the newest in the target of a job."""
    return written(job)[-1:] == [value]


def refusal(job: Job, mode: Mode) -> str | None:
    """Return why a job does not run in a mode: the condition or the first words; None if a record comes out."""
    send(job, "a")
    try:
        query = start(job, mode)
        wait_until(lambda: query.lastProgress if job.shape == "foreachBatch" else written(job), 60, "a record", [query])
    except (PySparkException, QueryFailedError) as error:
        conditions = [name for name in CONDITION.findall(str(error)) if not name.startswith(("STREAM_FAILED", "_LEG"))]
        return conditions[0] if conditions else str(error)
    query.stop()
    return None


@pytest.mark.parametrize("mode", MODES)
def test_mode_shows_in_the_plan(job: Job, mode: Mode, capsys: pytest.CaptureFixture[str]) -> None:
    """The leaf of the physical plan names the mode, whatever the trigger was meant to be."""
    send(job, "a")
    query = start(job, mode)
    wait_until(lambda: written(job), 60, "a record", [query])
    capsys.readouterr()

    query.explain()

    assert LEAVES[mode] in capsys.readouterr().out


ACCEPTED = {
    # shape, output mode: micro-batch, async progress, continuous, real-time
    ("counted", "update"): (None, "does not support async progress tracking", "does not support Aggregate", None),
    ("repartitioned", "update"): (None, None, "does not support Repartition", None),
    ("timed", "update"): (None, None, "does not support current time", None),
    ("through Python", "update"): (None, None, None, "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"),
    ("foreachBatch", "update"): (
        None,
        "does not support async progress tracking",
        "not supported with continuous trigger",
        "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST",
    ),
    ("stateless", "append"): (None, None, None, "STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED"),
    ("stateless", "update"): (None, None, None, None),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "output_mode"), ACCEPTED, ids=lambda value: value)
def test_mode_accepts_or_refuses_a_shape(job: Job, shape: str, output_mode: str, mode: Mode) -> None:
    """What a mode cannot run it refuses with words of its own; all else puts a record into the target."""
    expected = ACCEPTED[shape, output_mode][MODES.index(mode)]

    found = refusal(replace(job, shape=shape, output_mode=output_mode), mode)

    assert (expected is None) == (found is None), found
    assert (expected or "") in (found or "")


REPEATED: dict[Mode, list[str]] = {
    "micro-batch": [],
    "async progress": ["b"],  # its first batch after a start is always committed
    "continuous": ["a", "b"],
    "real-time": ["a", "b"],
}


@pytest.mark.parametrize(("mode", "repeated"), REPEATED.items(), ids=REPEATED)
def test_stopped_query_repeats_what_it_had_not_committed(job: Job, mode: Mode, repeated: list[str]) -> None:
    """Rows leave at once and commits come later, except in micro-batch mode: a stop in between repeats the rows."""
    send(job, "first")
    run_until(job, mode, 1)
    query = start(job, mode, "3600 seconds")
    for value in "ab":
        send(job, value)
        wait_until(partial(is_last, job, value), 60, f"{value!r} in the target", [query])
    if mode == "micro-batch":
        query.processAllAvailable()
    stop_completely(job.spark, query)
    send(job, "c")

    again = start(job, mode, "3600 seconds")

    wait_until(partial(is_last, job, "c"), 60, "'c' in the target", [again])
    assert ["first", "a", "b", *repeated, "c"] == written(job)


def test_log_is_purged_in_the_background_unless_told_otherwise(job: Job) -> None:
    """Old entries of the logs are removed by a thread of its own: there is nothing to set."""
    assert "true" == job.spark.conf.get("spark.sql.streaming.asyncLogPurge.enabled")
    assert "100" == job.spark.conf.get("spark.sql.streaming.minBatchesToRetain")


def test_row_may_come_out_after_stop_has_returned(job: Job) -> None:
    """A task ends after its row, `stop()` does not wait for it, and `stop_completely` does."""
    query = start(replace(job, shape="slow for b"), "real-time", "3600 seconds")
    send(job, "a", "b")
    wait_until(partial(is_last, job, "a"), 60, "'a' in the target", [query])

    query.stop()
    before = written(job)
    stop_completely(job.spark, query)

    assert ["a"] == before
    assert ["a", "b"] == written(job)
