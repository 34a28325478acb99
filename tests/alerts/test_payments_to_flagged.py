from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from examples.alerts.job import Options, start
from examples.alerts.payments_to_flagged import FLAGGED, JOB
from tests.alerts.helpers import BROKEN, Output, create, encoded, outputs_of, received, rejected, send
from tests.helpers import eventually

pytestmark = [pytest.mark.spark, pytest.mark.services]

GOOD: dict[str, Any] = {"payment_id": "p1", "card": "c1", "country": "NL", "amount_cents": 100_00}
RULES = [
    (b"NL", b'{"limit_cents":1}'),
    (b"NL", b'{"limit_cents":10000}'),
    (b"XX", b'{"limit_cents":500,"blocked":true}'),
    (b"DE", b'{"limit_cents":500}'),
    (b"DE", None),
    (b"FR", b"{bad"),
    (None, b"{}"),
    (b"\xff", b"{}"),
]


PAYMENTS: list[tuple[bytes, str, str]] = [
    (encoded(GOOD), "payments-passed", ""),
    (encoded(GOOD, amount_cents=100_01), "payments-flagged", "over_limit"),
    (encoded(GOOD, country="XX", amount_cents=500), "payments-flagged", "country_blocked"),
    (encoded(GOOD, country="XX", amount_cents=501), "payments-flagged", "country_blocked,over_limit"),
    (encoded(GOOD, country="DE"), "payments-flagged", "no_rule"),
    (encoded(GOOD, country="FR"), "payments-flagged", "no_rule"),
    (encoded(GOOD, country="nl"), "payments-flagged", "no_rule"),
    (encoded(GOOD, unknown={"card": 1}), "payments-passed", ""),
]
"""Readable payments with their topics and flags."""
BAD = {
    **BROKEN,
    "wrong_type": encoded(GOOD, card=5),
    "bad_number": encoded(GOOD, amount_cents=-1),
    "bad_id:card": encoded(GOOD, card="a b"),
    **{f"missing:{name}": encoded(GOOD, **{name: ...}) for name in GOOD},
}
"""Payments that the job must reject, by the reason."""


@pytest.fixture(scope="module")
def outputs(spark: SparkSession, shared_options: Options) -> list[Output]:
    """Return the output of one run before a commit: first for the unreadable payments, then for all other payments."""
    values = [*BAD.values(), *(value for value, _, _ in PAYMENTS)]
    return outputs_of(JOB, spark, shared_options, values, len(values), {"payment-rules": RULES})


def test_payments_are_flagged_by_newest_rule_of_country(outputs: list[Output]) -> None:
    """Each payment is written once, before any commit; without a readable rule, its flag is `no_rule`."""
    found = outputs[len(BAD) :]

    assert [(topic, b"c1", flags) for _, topic, flags in PAYMENTS] == [
        (o.topic, o.key, o.fields()["flags"]) for o in found
    ]
    assert {frozenset(FLAGGED.names)} == {frozenset(o.fields()) for o in found}


def test_unreadable_payment_is_rejected_and_next_one_passes(outputs: list[Output]) -> None:
    first, following = outputs[: len(BAD)], outputs[len(BAD)]

    assert "payments-passed" == following.topic
    assert [*BAD.items()] == rejected(first)
    assert {b"k"} == {output.key for output in first}


def test_new_rule_applies_from_the_next_batch(spark: SparkSession, options: Options) -> None:
    create(JOB, options)
    send(options, "payment-rules", RULES)
    query = start(JOB, spark, replace(options, interval_seconds=2))
    send(options, "payments", [(b"k", encoded(GOOD))])
    (before,) = received(options, JOB, 1)

    send(options, "payment-rules", [(b"NL", b'{"limit_cents":1}')])
    changed_in = query.lastProgress.batchId if query.lastProgress else -1
    eventually(lambda: query.lastProgress and query.lastProgress.batchId >= changed_in + 2, 60, "the next batch")
    send(options, "payments", [(b"k", encoded(GOOD))])

    after = received(options, JOB, 2)[-1]
    assert ("payments-passed", "payments-flagged") == (before.topic, after.topic)
