import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from examples.alerts import lifts_to_notices, logins_to_spikes, readings_to_incidents
from examples.alerts.alarms_to_first import LATENESS_MS, MINUTE_MS, SKEW_MS
from examples.alerts.job import Job, Options
from examples.alerts.logins_to_spikes import MAX_FAILURES
from tests.alerts.helpers import BROKEN, Record, encoded, outputs_of, rejected

pytestmark = [pytest.mark.spark, pytest.mark.services]

LIFT: dict[str, Any] = {"event_id": "e1", "lift_id": "l1", "code": "trapped"}
READING: dict[str, Any] = {"machine_id": "m1", "value": 50, "read_ts": 1}


class Case(NamedTuple):
    """A job, its tables by topic, its input, and the alerts by key and the rejected records by reason."""

    job: Job
    tables: dict[str, list[Record]]
    rows: list[bytes]
    alerts: dict[str, dict[str, Any]]
    bad: dict[str, bytes | None]


def readings(*values: int) -> list[bytes]:
    return [encoded(READING, value=value, read_ts=n) for n, value in enumerate(values)]


def incident(value: int, read_ts: int, since: int, status: str) -> dict[str, Any]:
    return {**READING, "value": value, "read_ts": read_ts, "incident_id": f"m1/{since}", "status": status}


def logins() -> Case:
    now = int(time.time() * 1000)
    minute = now - now % MINUTE_MS - MINUTE_MS
    failed: dict[str, Any] = {"account": "a1", "outcome": "failed", "login_ts": minute}
    return Case(
        logins_to_spikes.JOB,
        {},
        [
            *[encoded(failed)] * (MAX_FAILURES + 1),
            *[encoded(failed, account="a2")] * (MAX_FAILURES - 1),
            *[encoded(failed, account="a2", login_ts=minute - 1)] * (MAX_FAILURES - 1),
            *[encoded(failed, account="a2", outcome="ok")] * MAX_FAILURES,
            *[encoded(failed, account="a3", login_ts=minute + MINUTE_MS - 1)] * MAX_FAILURES,
        ],
        {
            f"{account}/{minute}": {"account": account, "minute_ts": minute, "failures": MAX_FAILURES}
            for account in ("a1", "a3")
        },
        {
            "bad_outcome": encoded(failed, outcome="unknown"),
            "late": encoded(failed, login_ts=now - LATENESS_MS - MINUTE_MS),
            "future": encoded(failed, login_ts=now + SKEW_MS + 5 * MINUTE_MS),
        },
    )


def lifts() -> Case:
    return Case(
        lifts_to_notices.JOB,
        {
            "lift-contacts": [
                (b"l1", encoded({"site": "Old", "to": "old@site.example", "urgent": []})),
                (b"l1", encoded({"site": "North", "to": "north@site.example", "urgent": ["trapped", "fire"]})),
                (b"l2", b"{bad"),
            ]
        },
        [
            encoded(LIFT),
            encoded(LIFT, event_id="e2", code="door"),
            encoded(LIFT, event_id="e3", lift_id="l2", code="door"),
            encoded(LIFT, event_id="e4", lift_id="l3", code="door"),
        ],
        {
            "e1": {**LIFT, "site": "North", "to": "north@site.example"},
            "e3": {**LIFT, "event_id": "e3", "lift_id": "l2", "code": "door"},
            "e4": {**LIFT, "event_id": "e4", "lift_id": "l3", "code": "door"},
        },
        {"bad_id:lift_id": encoded(LIFT, lift_id="l 1")},
    )


def machines() -> Case:
    return Case(
        readings_to_incidents.JOB,
        {"machine-limits": [(b"m1", encoded({"raise_above": 80, "clear_below": 70})), (b"m2", b"{}")]},
        [
            *readings(80, 81, 90, 75, 81, 70, 69, 75, 80, 99),
            # Older than the newest reading.
            encoded(READING, value=1, read_ts=8),
        ],
        {
            "m1/1/raised": incident(81, 1, 1, "raised"),
            "m1/1/cleared": incident(69, 6, 1, "cleared"),
            "m1/9/raised": incident(99, 9, 9, "raised"),
        },
        {
            "no_limits": encoded(READING, machine_id="m2"),
            "bad_number": encoded(READING, value=-1),
            "future": encoded(READING, read_ts=10**14),
        },
    )


@pytest.mark.parametrize("of", [logins, lifts, machines])
def test_each_alert_is_written_once_and_bad_records_are_rejected(
    spark: SparkSession, options: Options, of: Callable[[], Case]
) -> None:
    """The job writes the alerts and rejected records, and no other record, before it commits."""
    case = of()
    bad = {**BROKEN, **case.bad}
    values, count = [*case.rows, *bad.values()], len(case.alerts) + len(bad)

    found = outputs_of(case.job, spark, options, values, count, case.tables)

    alerts = [((o.key or b"").decode(), o.fields()) for o in found if o.topic == case.job.writes[0]]
    assert sorted(case.alerts.items(), key=str) == sorted(alerts, key=str)
    assert bad == dict(rejected(found))
