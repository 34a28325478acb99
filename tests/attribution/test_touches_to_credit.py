"""The credit query on a broker: random users, a restart, erasure, orders without a user, and the end of state."""

import random
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from examples.attribution.correlation.rule import Result
from examples.attribution.credit.models import CreditRules, Lookback
from examples.attribution.credit.rule import Conversion, OrderCredit, Touch
from examples.attribution.settings import Settings
from examples.attribution.touches_to_credit import CREDITS, touches_to_credit
from spark_rtm.kafka.ticks import ticking
from spark_rtm.realtime.queries import raise_if_failed
from tests.attribution.correlation.histories import drawn
from tests.attribution.credit.histories import RULES, UserRecord, expected_with_erasure, histories
from tests.attribution.hops import PARTITIONS, TICKS, HopClient, RunningHop
from tests.helpers import eventually, new_topic

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(400)]

USERS = 150
# Touches of the second half are late for orders of the first half. No state expires before the end of the test.
RULES_ON_BROKER = replace(RULES, lateness_ms=2_000, delay_ms=400_000, settle_ms=1_000)
RULES_WITH_SHORT_WINDOWS = CreditRules(
    lookback=Lookback(1_000, 1_000), lateness_ms=2_000, delay_ms=2_000, settle_ms=2_000
)


class CreditHop:
    def __init__(
        self,
        spark: SparkSession,
        kafka: str,
        settings: Settings,
        checkpoint: Path,
        rules: CreditRules,
        *,
        real_time: bool = False,
    ) -> None:
        self.settings, self.real_time = replace(settings, time_scale=1), real_time

        def transform(rows: DataFrame) -> DataFrame:
            return touches_to_credit(rows, self.settings, rules, self.running.ticks() if real_time else None)

        self.running = RunningHop(spark, kafka, transform, checkpoint, has_python=True)
        self.erasures, self.target = self.settings.topic("ad-erasures"), new_topic(kafka, PARTITIONS)
        self.client = HopClient(kafka, self.target)
        self.start()

    def records(self) -> int:
        raise_if_failed([self.running.query])
        return sum(row["records"] for row in self.client.read().values())

    def start(self) -> None:
        sources = [self.settings.topic("ad-attributed"), self.settings.topic("events"), self.erasures]
        self.running.start(sources, self.target, real_time=self.real_time)

    def await_commit(self) -> None:
        query = self.running.query
        before = query.lastProgress.batchId if query.lastProgress else -1
        eventually(lambda: query.lastProgress and query.lastProgress.batchId > before, 120, "a committed batch")

    def send(self, *records: tuple[str | None, UserRecord]) -> list[UserRecord]:
        stored = self.client.send_all([self._source_record(user, record) for user, record in records])
        return [replace(record, stored_at=at) for (_, record), at in zip(records, stored, strict=True)]

    def _source_record(self, user: str | None, record: UserRecord) -> tuple[str, str, dict[str, Any]]:
        if isinstance(record, Touch):
            return self.settings.topic("ad-attributed"), record.result_id, asdict(result_of(user, record))
        fields = {**asdict(record), "kind": "conversion", "user_key": user}
        return self.settings.topic("events"), user or record.order_id, fields


def result_of(user: str | None, touch: Touch) -> Result:
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


def rows_of(credits_by_id: dict[str, OrderCredit]) -> dict[str, dict[str, Any]]:
    rows = {result_id: credit.document() for result_id, credit in credits_by_id.items()}
    return {key: {name: value for name, value in row.items() if name != "version"} for key, row in rows.items()}


class RandomUsers:
    """Users whose records are sent in random order; some are erased midway."""

    def __init__(self) -> None:
        histories_of_users = drawn(histories(120, 20), USERS)
        self.records = [
            (f"u{n}", with_unique_ids(f"u{n}", record))
            for n, history in enumerate(histories_of_users)
            for record in history
        ]
        random.Random(7).shuffle(self.records)
        self.stored: dict[str, list[UserRecord]] = {f"u{n}": [] for n in range(USERS)}
        self.erased_at: dict[str, int] = {}

    def send(self, hop: CreditHop, start: int, end: int | None) -> None:
        chunk = self.records[start:end]
        for (user, _), record in zip(chunk, hop.send(*chunk), strict=True):
            self.stored[user].append(record)

    def erase(self, hop: CreditHop) -> None:
        """Send tombstones, and wait until later records have later append times."""
        users = [user for user in self.stored if user.endswith("7")]
        prefixes = tuple(f"{user}/" for user in users)
        self.erased_at = dict(
            zip(users, hop.client.send_all([(hop.erasures, user, None) for user in users]), strict=True)
        )
        eventually(lambda: time.time() * 1000 > max(self.erased_at.values()) + 1, 60, "a time after the tombstones")
        # Real-time mode may read later records of other topics first, also after a restart.
        eventually(
            lambda: all(row["final"] for key, row in hop.client.read().items() if key.startswith(prefixes)),
            120,
            "final credit of the erased users",
        )
        hop.await_commit()

    def conversions(self) -> int:
        return sum(isinstance(record, Conversion) for records in self.stored.values() for record in records)

    def expected(self) -> dict[str, OrderCredit]:
        """Return the final credit by the rule for all records sent so far."""
        credits_by_id: dict[str, OrderCredit] = {}
        for user, records in self.stored.items():
            credits_by_id |= expected_with_erasure(user, records, self.erased_at.get(user), RULES_ON_BROKER)
        return credits_by_id


def test_users_with_a_restart_get_the_credit_of_the_rule(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    hop, users = CreditHop(spark, kafka, settings, tmp_path / "checkpoint", RULES_ON_BROKER), RandomUsers()
    half, three_quarters = len(users.records) // 2, len(users.records) * 3 // 4
    users.send(hop, 0, half)
    eventually(lambda: hop.records() == users.conversions(), 120, "credit for the first half")

    users.erase(hop)
    users.send(hop, half, three_quarters)
    hop.running.query.stop()
    hop.start()
    users.send(hop, three_quarters, None)

    hop.client.await_contents(rows_of(users.expected()), [hop.running.query])
    newest = hop.client.newest.values()
    assert users.conversions() == sum(row["records"] for row in newest)
    assert min(len(users.erased_at), sum(row["records"] > 1 for row in newest)) >= 15
    assert all(CREDITS.names == list(row) for row in hop.client.rows)


def with_unique_ids(user: str, record: UserRecord) -> UserRecord:
    if isinstance(record, Touch):
        return replace(record, result_id=f"{user}-{record.result_id}")
    return replace(record, src=f"{record.src}-{user}", order_id=f"{user}-{record.order_id}")


def test_state_is_empty_after_the_window_and_after_erasure(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    hop = CreditHop(spark, kafka, settings, tmp_path / "checkpoint", RULES_WITH_SHORT_WINDOWS)
    now = int(time.time() * 1000)
    click = Touch("x", 2, "click", True, now, "x", "i", "c", 0)
    order = Conversion("events:0:1", "a", "o1", now + 5, "e", 100, now, 0, 0)
    hop.send(("u", click), ("u", order), (None, replace(order, order_id="o2", src="events:0:2")))
    eventually(lambda: hop.records() == 2, 120, "the conversions")
    eventually(lambda: hop.client.read()["u/a/o1"]["code"] == "attributed", 120, "the credit of the user")
    hop.send(("v", replace(click, result_id="y")))
    eventually(lambda: hop.running.state_rows() > 0, 120, "state rows")

    for topic in ("ad-attributed", "events"):
        hop.client.send(hop.settings.topic(topic), "v", None)
    hop.client.send(hop.erasures, "u", None)

    eventually(lambda: hop.client.read()["u/a/o1"]["final"], 120, "final credit")
    eventually(lambda: hop.running.state_rows() == 0, 120, "no state rows")
    assert 0 == hop.running.timers()
    assert ["attributed", "unattributed"] == [hop.client.read()[k]["code"] for k in ("u/a/o1", "/a/o2/a/o2")]


def test_real_time_mode_credits_the_touches_that_it_has_read(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """A timer makes an order's credit final; touches read later count as late, so they are sent before it."""
    with ticking(kafka, TICKS):
        hop = CreditHop(spark, kafka, settings, tmp_path / "checkpoint", RULES_ON_BROKER, real_time=True)
        now = int(time.time() * 1000)
        hop.send(("u", Touch("x", 2, "click", True, now, "x", "i", "c", 0)))
        hop.await_commit()
        hop.send(("u", Conversion("events:0:1", "a", "o1", now + 5, "e", 100, now, 0, 0)))
        eventually(lambda: hop.client.read().get("u/a/o1", {}).get("final"), 120, "final credit")

    row = hop.client.newest["u/a/o1"]
    assert ("attributed", 0, ["x"]) == (row["code"], row["late_touches"], [c["result_id"] for c in row["credits"]])
