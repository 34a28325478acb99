"""Device alarms: the job passes on first alarms and drops only their repeats."""

import time
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.alerts.alarms_to_first import ALARMS, JOB, LATENESS_MS, REPEAT_MS, SKEW_MS
from examples.alerts.job import Options, start
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import raise_if_failed
from tests.alerts.helpers import BROKEN, create, encoded, received, rejected, send
from tests.helpers import eventually

pytestmark = [pytest.mark.spark, pytest.mark.services]

SLACK_MS = 60_000


def alarm(raised_ts: int | None, **changes: Any) -> bytes:
    fields = {"device_id": "d1", "code": "smoke", "raised_ts": raised_ts, "severity": "high"}
    return encoded(fields, **changes)


def dropped_rows(query: StreamingQuery) -> tuple[int, int]:
    states = [state for progress in query.recentProgress for state in progress.stateOperators]
    late = sum(state.numRowsDroppedByWatermark for state in states)
    return late, sum(state.customMetrics["numDroppedDuplicateRows"] for state in states)


def test_only_first_alarms_pass_and_bad_records_are_rejected(spark: SparkSession, options: Options) -> None:
    """The job drops repeats within a window, device and code; equal bad records all reach the reject topic."""
    now = int(time.time() * 1000)
    window_start = now - now % REPEAT_MS
    first = alarm(window_start)
    firsts = [first, alarm(window_start, device_id="d2"), alarm(window_start, code="water"), alarm(window_start - 1)]
    repeats = [first, alarm(window_start + 1), alarm(now, severity="low")]
    bad = {
        **BROKEN,
        "missing:raised_ts": alarm(None),
        "bad_id:device_id": alarm(now, device_id="d|1"),
        "late": alarm(now - LATENESS_MS - SLACK_MS),
        "future": alarm(now + SKEW_MS + SLACK_MS),
    }
    twice = [value for value in bad.values() for _ in range(2)]
    create(JOB, options)
    send(options, "alarms", [(b"k", value) for value in [*firsts[:3], *repeats, *twice, *firsts[3:]]])

    query = start(JOB, spark, replace(options, interval_seconds=5))

    found = received(options, JOB, len(firsts) + len(twice))
    assert_real_time(query)
    assert sorted(firsts) == sorted(encoded(o.fields()) for o in found if o.topic == "alarms-first")
    assert {frozenset(ALARMS.names)} == {frozenset(o.fields()) for o in found if o.topic == "alarms-first"}
    assert [(reason, value) for reason, value in bad.items() for _ in range(2)] == rejected(found)
    eventually(lambda: dropped_rows(query)[1] == len(repeats), 60, "the commit of the repeats")
    raise_if_failed([query])
    assert (0, len(repeats)) == dropped_rows(query)
