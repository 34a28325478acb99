import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from examples.alerts import (
    alarms_to_first,
    lifts_to_notices,
    logins_to_spikes,
    logs_to_leaks,
    payments_to_flagged,
    readings_to_incidents,
)
from examples.alerts.alarms_to_first import LATENESS_MS, MINUTE_MS, REPEAT_MS, SKEW_MS
from examples.alerts.job import Job, Options, start
from examples.alerts.logins_to_spikes import MAX_FAILURES
from examples.alerts.logs_to_leaks import MAX_LEAKS
from spark_rtm.testing.run import RealTimeRun
from tests.alerts.helpers import BROKEN, Record, create, encoded, outputs_of, send
from tests.helpers import eventually

pytestmark = [pytest.mark.spark, pytest.mark.services]

SLACK_MS = 5 * MINUTE_MS
LIFT: dict[str, Any] = {"event_id": "e1", "lift_id": "l1", "code": "trapped"}
READING: dict[str, Any] = {"machine_id": "m1", "value": 50, "read_ts": 1}
PAYMENT: dict[str, Any] = {"payment_id": "p1", "card": "c1", "country": "NL", "amount_cents": 100_00}
LOG: dict[str, Any] = {"service": "checkout", "level": "INFO", "message": "done"}
RULES: list[Record] = [
    (b"NL", b'{"limit_cents":1}'),
    (b"NL", b'{"limit_cents":10000}'),
    (b"XX", b'{"limit_cents":500,"blocked":true}'),
    (b"DE", b'{"limit_cents":500}'),
    (b"DE", None),
    (b"FR", b"{bad"),
    (None, b"{}"),
    (b"\xff", b"{}"),
]
FLAGS: list[tuple[dict[str, Any], str]] = [
    (PAYMENT, ""),
    ({**PAYMENT, "amount_cents": 100_01}, "over_limit"),
    ({**PAYMENT, "country": "XX", "amount_cents": 500}, "country_blocked"),
    ({**PAYMENT, "country": "XX", "amount_cents": 501}, "country_blocked,over_limit"),
    *(({**PAYMENT, "country": country}, "no_rule") for country in ("DE", "FR", "nl")),
]
"""Payments and their flags."""
CARD, IBAN = "4111 1111 1111 1111", "NL91ABNA0417164300"
LINES = {
    "mail to ann.b+c@mail.example.org sent": ("mail to [email] sent", "email", 1),
    f"card {CARD} declined": ("card [card] declined", "card", 1),
    "card 4111111111111111": ("card [card]", "card", 1),
    "card 3782-822463-10005.": ("card [card].", "card", 1),
    f"order 1234 {CARD}": ("order 1234 [card]", "card", 1),
    "card 4111 1111 1111 1112": ("card 4111 1111 1111 1112", "", 0),
    "at 1700000000000 took 4111111111111111000000 ns": ("at 1700000000000 took 4111111111111111000000 ns", "", 0),
    f"to {IBAN}, from GB82WEST12345698765432": ("to [iban], from [iban]", "iban", 2),
    "to NL91ABNA0417164301": ("to NL91ABNA0417164301", "", 0),
    f"{IBAN} a@b.nl {CARD} a@b.nl": ("[iban] [email] [card] [email]", "card,email,iban", 3),
    "from a@b.nl to xa@b.nl": ("from [email] to [email]", "email", 2),
    "@home 12:00 a@b": ("@home 12:00 a@b", "", 0),
    "": ("", "", 0),
    " ".join(f"u{n}@b.nl" for n in range(MAX_LEAKS + 1)): ("[withheld]", "email", MAX_LEAKS + 1),
    # A pattern that tries every length at every position would take minutes for one of these lines.
    **{line: (line, "", 0) for line in ("a" * 99_000, "1" * 99_000, "4111 " * 19_800)},
}
"""For each message: the masked message, the kinds of data, and the number of distinct matches."""


class Case(NamedTuple):
    job: Job
    rows: list[bytes]
    written: list[tuple[str, str, dict[str, Any]]]
    """Topic, key and fields of each record that the job writes for these rows."""
    bad: dict[str, bytes | None]
    """Records that the job rejects, by reject reason."""
    tables: dict[str, list[Record]] = {}  # noqa: RUF012 - never changed
    """Records of each static table, by the parameter of the job's function that receives the table."""


def alarms() -> Case:
    now = int(time.time() * 1000)
    first: dict[str, Any] = {"device_id": "d1", "code": "smoke", "raised_ts": now - now % REPEAT_MS, "severity": "high"}
    others = [{**first, "device_id": "d2"}, {**first, "code": "water"}]
    earlier = {**first, "raised_ts": first["raised_ts"] - 1}
    repeats = [first, {**first, "raised_ts": first["raised_ts"] + 1}, {**first, "raised_ts": now, "severity": "low"}]
    return Case(
        alarms_to_first.JOB,
        [encoded(alarm) for alarm in (first, *others, *repeats, earlier)],
        [("alarms-first", str(alarm["device_id"]), alarm) for alarm in (first, *others, earlier)],
        {
            "missing:raised_ts": encoded(first, raised_ts=None),
            "bad_id:device_id": encoded(first, device_id="d|1"),
            "late": encoded(first, raised_ts=now - LATENESS_MS - SLACK_MS),
            "future": encoded(first, raised_ts=now + SKEW_MS + SLACK_MS),
        },
    )


def lifts() -> Case:
    unknown = [{**LIFT, "event_id": f"e{n}", "lift_id": f"l{n}", "code": "door"} for n in (2, 3)]
    return Case(
        lifts_to_notices.JOB,
        [encoded(LIFT), encoded(LIFT, event_id="e4", code="door"), *map(encoded, unknown)],
        [
            ("lifts-notices", "e1", {**LIFT, "site": "North", "to": "north@site.example"}),
            *(("lifts-notices", event["event_id"], event) for event in unknown),
        ],
        {"bad_id:lift_id": encoded(LIFT, lift_id="l 1")},
        {
            "contacts": [
                (b"l1", encoded({"site": "Old", "to": "old@site.example", "urgent": []})),
                (b"l1", encoded({"site": "North", "to": "north@site.example", "urgent": ["trapped", "fire"]})),
                (b"l2", b"{bad"),
            ]
        },
    )


def logins() -> Case:
    now = int(time.time() * 1000)
    minute = now - now % MINUTE_MS - MINUTE_MS
    failed: dict[str, Any] = {"account": "a1", "outcome": "failed", "login_ts": minute}
    return Case(
        logins_to_spikes.JOB,
        [
            *[encoded(failed)] * (MAX_FAILURES + 1),
            *[encoded(failed, account="a2")] * (MAX_FAILURES - 1),
            *[encoded(failed, account="a2", login_ts=minute - 1)] * (MAX_FAILURES - 1),
            *[encoded(failed, account="a2", outcome="ok")] * MAX_FAILURES,
            *[encoded(failed, account="a3", login_ts=minute + MINUTE_MS - 1)] * MAX_FAILURES,
        ],
        [
            ("logins-spikes", f"{name}/{minute}", {"account": name, "minute_ts": minute, "failures": MAX_FAILURES})
            for name in ("a1", "a3")
        ],
        {
            "bad_outcome": encoded(failed, outcome="unknown"),
            "late": encoded(failed, login_ts=now - LATENESS_MS - SLACK_MS),
            "future": encoded(failed, login_ts=now + SKEW_MS + SLACK_MS),
        },
    )


def logs() -> Case:
    written: list[tuple[str, str, dict[str, Any]]] = []
    for masked, kinds, leaks in LINES.values():
        written.append(("logs-masked", "checkout", {**LOG, "message": masked}))
        if kinds:
            alert = {"service": "checkout", "kinds": kinds, "leaks": leaks, "to": "shop@owner.example"}
            written.append(("leaks", "checkout", alert))
    for unowned in ("search", "billing"):
        written.append(("logs-masked", unowned, {**LOG, "service": unowned, "message": "[email]"}))
        written.append(("leaks", unowned, {"service": unowned, "kinds": "email", "leaks": 1}))
    return Case(
        logs_to_leaks.JOB,
        [
            *(encoded(LOG, message=line, user="ann@b.nl") for line in LINES),
            *(encoded(LOG, service=unowned, message="a@b.nl") for unowned in ("search", "billing")),
        ],
        written,
        {
            "wrong_type": encoded(LOG, message={"a": 1}),
            "missing:service": encoded(LOG, service=...),
            "missing:message": encoded(LOG, message=None),
            "bad_service": encoded(LOG, service="card-4111"),
            "bad_level": encoded(LOG, level="ann"),
        },
        {
            "owners": [
                *((b"checkout", encoded({"to": to + "@owner.example"})) for to in ("old", "shop")),
                (b"billing", b"{bad"),
            ]
        },
    )


def machines() -> Case:
    values = (80, 81, 90, 75, 81, 70, 69, 75, 80, 99)
    incidents = [(81, 1, 1, "raised"), (69, 6, 1, "cleared"), (99, 9, 9, "raised")]
    older = encoded(READING, value=1, read_ts=8)
    return Case(
        readings_to_incidents.JOB,
        [*(encoded(READING, value=value, read_ts=n) for n, value in enumerate(values)), older],
        [
            (
                "readings-incidents",
                f"m1/{since}/{status}",
                {**READING, "value": value, "read_ts": at, "incident_id": f"m1/{since}", "status": status},
            )
            for value, at, since, status in incidents
        ],
        {
            "no_limits": encoded(READING, machine_id="m2"),
            "bad_number": encoded(READING, value=-1),
            "future": encoded(READING, read_ts=10**14),
        },
        {"limits": [(b"m1", encoded({"raise_above": 80, "clear_below": 70})), (b"m2", b"{}")]},
    )


def payments() -> Case:
    return Case(
        payments_to_flagged.JOB,
        [encoded(payment, unknown={"card": 1}) for payment, _ in FLAGS],
        [(f"payments-{'flagged' if flags else 'passed'}", "c1", {**p, "flags": flags}) for p, flags in FLAGS],
        {
            "wrong_type": encoded(PAYMENT, card=5),
            "bad_number": encoded(PAYMENT, amount_cents=-1),
            "bad_id:card": encoded(PAYMENT, card="a b"),
            **{f"missing:{name}": encoded(PAYMENT, **{name: ...}) for name in PAYMENT},
        },
        {"rules": RULES},
    )


@pytest.mark.parametrize("of", [alarms, lifts, logins, logs, machines, payments])
def test_each_alert_is_written_once_and_bad_records_are_rejected(
    run_real_time: Callable[..., RealTimeRun], of: Callable[[], Case]
) -> None:
    case = of()
    bad = BROKEN | case.bad
    values = [*bad.values(), *case.rows, *bad.values()]

    run = run_real_time(case.job.transform, [("k", value) for value in values], tables=case.tables, partitions=1)

    assert run.error is None
    good = [record for record in run.records if record.topic != case.job.writes[-1]]
    written = [(record.topic, (record.key or b"").decode(), record.fields()) for record in good]
    assert sorted(case.written, key=str) == sorted(written, key=str)
    assert {("src",)} == {tuple(dict(record.headers)) for record in good}
    rejected = [(dict(r.headers)["reason"], r.key, r.value) for r in run.records if r not in good]
    assert sorted(2 * [(reason.encode(), b"k", v) for reason, v in bad.items()], key=str) == sorted(rejected, key=str)


def test_new_rule_applies_from_the_next_batch(spark: SparkSession, options: Options) -> None:
    job = payments_to_flagged.JOB
    create(job, options)
    send(options, "payment-rules", RULES)
    query = start(job, spark, replace(options, interval_seconds=2))
    send(options, "payments", [(b"k", encoded(PAYMENT))])
    assert "payments-passed" == outputs_of(options, job, 1)[0].topic

    send(options, "payment-rules", [(b"NL", b'{"limit_cents":1}')])
    batches = len(query.recentProgress)
    eventually(lambda: len(query.recentProgress) > batches + 1, 60, "the next batch")
    send(options, "payments", [(b"k", encoded(PAYMENT))])
    assert "payments-flagged" == outputs_of(options, job, 2)[-1].topic
