"""Credit on the broker: random users with a restart in the middle, kinds of records, erasure, and the end of state."""

import random
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from pyspark.sql import SparkSession

from examples.attribution.correlation_rule import Result
from examples.attribution.credit_models import CreditRules, Lookback
from examples.attribution.credit_rule import Conversion, Credited, Touch
from examples.attribution.touches_to_credit import CREDITS, touches_to_credit
from examples.settings import Settings
from tests.attribution.credit_histories import RULES, Record, expected, histories
from tests.attribution.hops import PARTITIONS, Hop, Mailbox
from tests.helpers import eventually, new_topic

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(400)]

USERS = 40
ON_BROKER = replace(RULES, lateness_ms=5_000, delay_ms=100_000, settle_ms=1_000)
BRIEF = CreditRules(lookback=Lookback(2_000, 2_000), lateness_ms=4_000, delay_ms=4_000, settle_ms=4_000)


class Credits:
    """The running hop with its three sources, and the records as they were stored."""

    def __init__(
        self, spark: SparkSession, kafka: str, settings: Settings, checkpoint: Path, rules: CreditRules
    ) -> None:
        """Start it."""
        self.settings = replace(settings, time_scale=1)
        self.running = Hop(spark, kafka, lambda rows: touches_to_credit(rows, self.settings, rules), checkpoint)
        self.erasures, self.target = new_topic(kafka, PARTITIONS), new_topic(kafka, PARTITIONS)
        self.box = Mailbox(kafka, self.target)
        self.start()

    def start(self) -> None:
        """Start the query, or start it again from its checkpoint."""
        sources = [self.settings.topic("ad-attributed"), self.settings.topic("events"), self.erasures]
        self.running.start(sources, self.target)

    def send(self, user: str | None, record: Record) -> Record:
        """Send a record as the earlier hops would, and return it with its append time."""
        if isinstance(record, Touch):
            topic, key, fields = "ad-attributed", record.result_id, asdict(result_of(user, record))
        else:
            topic, key = "events", user or record.order_id
            fields = {**asdict(record), "kind": "conversion", "user_key": user}
        return replace(record, stored_at=self.box.send(self.settings.topic(topic), key, fields))


def result_of(user: str | None, touch: Touch) -> Result:
    """Return the result of the correlation that is this touch."""
    return Result(
        result_id=touch.result_id,
        version=touch.version,
        kind=touch.kind,
        code="matched" if touch.is_valid else "orphan_click",
        transaction_id="t",
        request_ts=touch.effective_ts,
        campaign_id=touch.campaign_id,
        effective_ts=touch.effective_ts,
        src="src:0:1",
        appended_at=touch.effective_ts,
        clock_skew=False,
        user_key=user,
        event_id=touch.event_id,
        impression_id=touch.impression_id,
    )


def rows_of(answers: dict[str, Credited]) -> dict[str, dict[str, Any]]:
    """Return answers as they stand in the topic, without versions."""
    rows = {key: asdict(answer) | {"credits": [asdict(c) for c in answer.credits]} for key, answer in answers.items()}
    return {key: {name: value for name, value in row.items() if name != "version"} for key, row in rows.items()}


def generated(count: int) -> list[list[Record]]:
    """Return histories that hypothesis draws, the same in every run."""
    drawn: list[list[Record]] = []

    @hypothesis_settings(
        max_examples=count, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(history=histories(120, 20))
    def draw(history: list[Record]) -> None:
        drawn.append(history)

    draw()
    return drawn


def test_many_users_in_any_order_with_a_restart_get_the_credits_of_the_rule(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """Every order is answered, credits and money add up, and a restart between its records changes nothing."""
    hop = Credits(spark, kafka, settings, tmp_path / "checkpoint", ON_BROKER)
    stream = [(f"u{n}", record) for n, history in enumerate(generated(USERS)) for record in history]
    random.Random(7).shuffle(stream)
    half = len(stream) // 2
    stored: dict[str, list[Record]] = {f"u{n}": [] for n in range(USERS)}

    for user, record in stream[:half]:
        stored[user].append(hop.send(user, named(user, record)))
    eventually(hop.running.has_committed, 120, "a committed batch")
    hop.running.query.stop()
    hop.start()
    for user, record in stream[half:]:
        stored[user].append(hop.send(user, named(user, record)))

    answers: dict[str, Credited] = {}
    for user, records in stored.items():
        answers |= expected(user, records, ON_BROKER)
    hop.box.await_contents(rows_of(answers), [hop.running.query])
    assert {"attributed", "unattributed"} == {answer.code for answer in answers.values()}
    assert all(CREDITS.names == list(row) for row in hop.box.rows)


def named(user: str, record: Record) -> Record:
    """Return the record with identities that no other user has."""
    if isinstance(record, Touch):
        return replace(record, result_id=f"{user}-{record.result_id}")
    return replace(record, src=f"{record.src}-{user}")


def test_state_falls_back_to_nothing_after_the_window_and_after_erasure(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """Conversions without user are counted, erasure makes answers final at once, and all rows of state go."""
    hop = Credits(spark, kafka, settings, tmp_path / "checkpoint", BRIEF)
    now = int(time.time() * 1000)
    click = Touch("x", 2, "click", True, now, "x", "i", "c", 0)
    order = Conversion("events:0:1", "a", "o1", now + 5, "e", 100, now, 0, 0)
    hop.send("u", click)
    hop.send("u", order)
    hop.send(None, replace(order, order_id="o2", src="events:0:2"))
    eventually(partial(wait_for, hop, "u/a/o1", "attributed"), 120, "the answer for the user")
    hop.send("v", replace(click, result_id="y"))
    eventually(lambda: hop.running.state_rows() > 0, 120, "rows of state")

    hop.box.send(hop.erasures, "u", None)

    eventually(lambda: hop.box.read()["u/a/o1"]["final"], 120, "the final answer")
    eventually(lambda: hop.running.state_rows() == 0, 120, "no rows of state")
    assert ["attributed", "unattributed"] == [hop.box.read()[k]["code"] for k in ("u/a/o1", "/a/o2/a/o2")]


def wait_for(hop: Credits, result_id: str, code: str) -> bool:
    """Tell whether the newest version of a result has this code."""
    hop.running.state_rows()
    return bool(hop.box.read().get(result_id, {}).get("code") == code)
