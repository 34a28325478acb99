"""Credit on the broker: random users with a restart in the middle, kinds of records, erasure, and the end of state."""

import random
import time
from collections import defaultdict
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from examples.attribution.correlation.rule import Result
from examples.attribution.credit.models import CreditRules, Lookback
from examples.attribution.credit.rule import Conversion, Credited, Touch
from examples.attribution.settings import Settings
from examples.attribution.touches_to_credit import CREDITS, touches_to_credit
from examples.realtime.queries import raise_if_failed
from tests.attribution.correlation.histories import drawn
from tests.attribution.credit.histories import RULES, Record, expected, expected_of_two_lives, histories
from tests.attribution.hops import PARTITIONS, Hop, Mailbox
from tests.helpers import eventually, new_topic

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(400)]

USERS = 1_000
# Touches of the second half are late for orders of the first; nothing is forgotten before the end.
ON_BROKER = replace(RULES, lateness_ms=2_000, delay_ms=400_000, settle_ms=1_000)
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

    def records(self) -> int:
        """Return how many conversions the newest answers have counted."""
        raise_if_failed([self.running.query])
        return sum(row["records"] for row in self.box.read().values())

    def start(self) -> None:
        """Start the query, or start it again from its checkpoint."""
        sources = [self.settings.topic("ad-attributed"), self.settings.topic("events"), self.erasures]
        self.running.start(sources, self.target)

    def send(self, *records: tuple[str | None, Record]) -> list[Record]:
        """Send records of users as the earlier hops would, and return them with their append times."""
        stored = self.box.send_all([self._source_record(user, record) for user, record in records])
        return [replace(record, stored_at=at) for (_, record), at in zip(records, stored, strict=True)]

    def _source_record(self, user: str | None, record: Record) -> tuple[str, str, dict[str, Any]]:
        if isinstance(record, Touch):
            return self.settings.topic("ad-attributed"), record.result_id, asdict(result_of(user, record))
        fields = {**asdict(record), "kind": "conversion", "user_key": user}
        return self.settings.topic("events"), user or record.order_id, fields


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


@cache
def drawn_histories() -> list[list[Record]]:
    """Return a history for each user."""
    return drawn(histories(120, 20), USERS)


class Crowd:
    """A thousand users whose records come in random order; some have no key, and some are erased in between."""

    def __init__(self) -> None:
        """Draw the histories, and shuffle them together."""
        self.random = random.Random(7)
        self.records: list[tuple[str, Record]] = []
        for n, history in enumerate(drawn_histories()):
            self.records += [(f"u{n}", named(f"u{n}", record)) for record in history]
        self.random.shuffle(self.records)
        self.stored: dict[str, list[Record]] = {f"u{n}": [] for n in range(USERS)}
        self.erased_at: dict[str, int] = {}

    def send(self, hop: Credits, count: int) -> None:
        """Send the next records, in pieces of random size."""
        while count > 0:
            piece = self.records[: min(count, self.random.randint(1, 1_000))]
            keyed = [(None if is_without_key(user) else user, record) for user, record in piece]
            for (user, _), record in zip(piece, hop.send(*keyed), strict=True):
                self.stored[user].append(record)
            self.records, count = self.records[len(piece) :], count - len(piece)

    def erase(self, hop: Credits) -> None:
        """Send tombstones, and let a moment pass, so that what comes next is younger than they are."""
        users = [user for user in self.stored if is_erased(user)]
        self.erased_at = dict(zip(users, hop.box.send_all([(hop.erasures, user, None) for user in users]), strict=True))
        eventually(lambda: time.time() * 1000 > max(self.erased_at.values()) + 1, 30, "the next moment")

    def conversions(self) -> int:
        """Return how many have been sent."""
        return sum(isinstance(record, Conversion) for records in self.stored.values() for record in records)

    def answers(self) -> dict[str, Credited]:
        """Return the rule's final answers to what has been sent."""
        answers: dict[str, Credited] = {}
        for user, records in self.stored.items():
            if is_without_key(user):
                orders = [record for record in records if isinstance(record, Conversion)]
                for order in orders:
                    answers |= expected(f"/a/{order.order_id}", same(orders, order), ON_BROKER)
            else:
                answers |= expected_of_two_lives(user, records, self.erased_at.get(user), ON_BROKER)
        return answers


def test_a_thousand_users_in_any_order_with_a_restart_get_the_credits_of_the_rule(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """Every conversion is counted, credits and money add up, and a restart between its records changes nothing."""
    hop, crowd = Credits(spark, kafka, settings, tmp_path / "checkpoint", ON_BROKER), Crowd()
    crowd.send(hop, len(crowd.records) // 2)
    eventually(lambda: hop.records() == crowd.conversions(), 120, "answers to the first half")

    crowd.erase(hop)
    crowd.send(hop, len(crowd.records) // 2)
    hop.running.query.stop()
    hop.start()
    crowd.send(hop, len(crowd.records))

    answers = crowd.answers()
    hop.box.await_contents(rows_of(answers), [hop.running.query])
    newest = hop.box.newest.values()
    assert crowd.conversions() == sum(row["records"] for row in newest)
    assert [1_000_000 * (row["code"] == "attributed") for row in newest] == [
        sum(credit["credit_millionths"] for credit in row["credits"]) for row in newest
    ]
    assert [row["value_micros"] * (row["code"] == "attributed") for row in newest] == [
        sum(credit["value_micros"] for credit in row["credits"]) for row in newest
    ]
    assert all(CREDITS.names == list(row) for row in hop.box.rows)


def test_the_thousand_histories_hold_every_case() -> None:
    """Late touches, copies, changed values, cut paths, users without key and erased users all occur, many times."""
    crowd = Crowd()
    ordered = [(user, record) for user, record in crowd.records if isinstance(record, Conversion)]
    of_order: defaultdict[str, list[Conversion]] = defaultdict(list)
    for _, record in ordered:
        of_order[record.order_id].append(record)
    cases = {
        "conversions": len(ordered),
        "copies": len(ordered) - len(of_order),
        "changed values": sum(len({record.value_micros for record in records}) > 1 for records in of_order.values()),
        "without key": sum(is_without_key(user) for user, _ in ordered),
        "erased": sum(is_erased(user) for user, _ in ordered),
    }

    assert USERS == len({user for user, _ in crowd.records})
    assert {} == {case: count for case, count in cases.items() if count < 50}


def is_without_key(user: str) -> bool:
    """Tell whether the user has not agreed to a key."""
    return user.endswith("3")


def is_erased(user: str) -> bool:
    """Tell whether the user asks for erasure."""
    return user.endswith("7")


def same(records: list[Conversion], order: Conversion) -> list[Conversion]:
    """Return the records of one order."""
    return [record for record in records if record.order_id == order.order_id]


def named(user: str, record: Record) -> Record:
    """Return the record with identities that no other user has."""
    if isinstance(record, Touch):
        return replace(record, result_id=f"{user}-{record.result_id}")
    return replace(record, src=f"{record.src}-{user}", order_id=f"{user}-{record.order_id}")


def test_state_falls_back_to_nothing_after_the_window_and_after_erasure(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """Conversions without user are counted, erasure makes answers final at once, and all rows of state go."""
    hop = Credits(spark, kafka, settings, tmp_path / "checkpoint", BRIEF)
    now = int(time.time() * 1000)
    click = Touch("x", 2, "click", True, now, "x", "i", "c", 0)
    order = Conversion("events:0:1", "a", "o1", now + 5, "e", 100, now, 0, 0)
    hop.send(("u", click), ("u", order), (None, replace(order, order_id="o2", src="events:0:2")))
    eventually(partial(wait_for, hop, "u/a/o1", "attributed"), 120, "the answer for the user")
    hop.send(("v", replace(click, result_id="y")))
    eventually(lambda: hop.running.state_rows() > 0, 120, "rows of state")

    hop.box.send(hop.erasures, "u", None)

    eventually(lambda: hop.box.read()["u/a/o1"]["final"], 120, "the final answer")
    eventually(lambda: hop.running.state_rows() == 0, 120, "no rows of state")
    assert 0 == hop.running.timers()
    assert ["attributed", "unattributed"] == [hop.box.read()[k]["code"] for k in ("u/a/o1", "/a/o2/a/o2")]


def wait_for(hop: Credits, result_id: str, code: str) -> bool:
    """Tell whether the newest version of a result has this code."""
    hop.running.state_rows()
    return bool(hop.box.read().get(result_id, {}).get("code") == code)
