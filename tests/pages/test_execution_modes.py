from dataclasses import replace
from functools import partial

import pytest
from pyspark.errors import PySparkException

from spark_rtm.realtime.queries import CONDITION, QueryFailedError, stop_completely, wait_until
from tests.pages.jobs import MODES, Mode, ModeJob, run_until, send, start, written

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(180)]

SCAN_NODES = {
    "micro-batch": "MicroBatchScan",
    "async progress": "MicroBatchScan",
    "continuous": "ContinuousScan",
    "real-time": "RealTimeStreamScan",
}


def is_last(job: ModeJob, value: str) -> bool:
    return written(job)[-1:] == [value]


def refusal(job: ModeJob, mode: Mode) -> str | None:
    """Return the error condition or message with which a job fails in a mode, or None if the job writes a record."""
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
def test_physical_plan_shows_the_execution_mode(job: ModeJob, mode: Mode, capsys: pytest.CaptureFixture[str]) -> None:
    send(job, "a")
    query = start(job, mode)
    wait_until(lambda: written(job), 60, "a record", [query])
    capsys.readouterr()

    query.explain()

    assert SCAN_NODES[mode] in capsys.readouterr().out


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
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "output_mode"), ACCEPTED, ids=lambda value: value)
def test_mode_runs_or_refuses_a_query(job: ModeJob, shape: str, output_mode: str, mode: Mode) -> None:
    expected = ACCEPTED[shape, output_mode][MODES.index(mode)]

    reason = refusal(replace(job, shape=shape, output_mode=output_mode), mode)

    assert (expected is None) == (reason is None), reason
    assert (expected or "") in (reason or "")


REPEATED: dict[Mode, list[str]] = {
    "micro-batch": [],
    "async progress": ["b"],  # the first batch after a start is always committed
    "continuous": ["a", "b"],
    "real-time": ["a", "b"],
}


@pytest.mark.parametrize(("mode", "repeated"), REPEATED.items(), ids=REPEATED)
def test_restart_after_stop_repeats_uncommitted_rows(job: ModeJob, mode: Mode, repeated: list[str]) -> None:
    """Except in micro-batch mode, a stop between the write and the commit of a row repeats the row after a restart."""
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

    restarted = start(job, mode, "3600 seconds")

    wait_until(partial(is_last, job, "c"), 60, "'c' in the target", [restarted])
    assert ["first", "a", "b", *repeated, "c"] == written(job)


def test_log_is_purged_in_the_background_by_default(job: ModeJob) -> None:
    assert "true" == job.spark.conf.get("spark.sql.streaming.asyncLogPurge.enabled")
    assert "100" == job.spark.conf.get("spark.sql.streaming.minBatchesToRetain")


def test_row_can_be_written_after_stop_has_returned(job: ModeJob) -> None:
    """A task finishes its row after `stop()` has returned; `stop_completely` waits for the task."""
    query = start(replace(job, shape="slow for b"), "real-time", "3600 seconds")
    send(job, "a", "b")
    wait_until(partial(is_last, job, "a"), 60, "'a' in the target", [query])

    query.stop()
    before = written(job)
    stop_completely(job.spark, query)

    assert ["a"] == before
    assert ["a", "b"] == written(job)
