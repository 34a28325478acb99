"""The credit query on a broker: random users, a restart, erasure, and orders without a user."""

import random
import time
from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from examples.attribution.correlation.rule import Result
from examples.attribution.credit.rule import Conversion, OrderCredit, Touch
from examples.attribution.settings import Settings
from examples.attribution.touches_to_credit import CREDITS, touches_to_credit
from spark_rtm.kafka.ticks import ticking
from tests.attribution.correlation.histories import drawn
from tests.attribution.credit.histories import RULES, T, UserRecord, expected_with_erasure, histories
from tests.attribution.hops import PARTITIONS, TICKS, Record, RunningHop, ticks
from tests.helpers import eventually, new_topic

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(400)]

USERS = 50
# Touches of the second half are late for orders of the first half. No state expires before the end of the test.
RULES_ON_BROKER = replace(RULES, lateness_ms=2_000, delay_ms=400_000, settle_ms=1_000)


class CreditHop(RunningHop):
    def __init__(
        self, spark: SparkSession, kafka: str, settings: Settings, checkpoint: Path, *, real_time: bool = False
    ) -> None:
        self.erasures, unscaled = settings.topic("ad-erasures"), replace(settings, time_scale=1)

        def transform(rows: DataFrame) -> DataFrame:
            return touches_to_credit(rows, unscaled, RULES_ON_BROKER, ticks(spark, kafka) if real_time else None)

        sources = [settings.topic("ad-attributed"), settings.topic("events"), self.erasures]
        super().__init__(spark, kafka, transform, checkpoint, sources, new_topic(kafka, PARTITIONS))

    def records(self) -> int:
        return sum(row["records"] for row in self.client.read().values())

    def await_commit(self) -> None:
        batches = len(self.query.recentProgress)
        self.wait(lambda: len(self.query.recentProgress) > batches, "a committed batch")

    def erase(self, users: list[str]) -> dict[str, int]:
        """Send tombstones, wait until later records have later append times, and return those of the tombstones."""
        erased_at = dict(zip(users, self.client.send(*((self.erasures, user, None) for user in users)), strict=True))
        eventually(lambda: time.time() * 1000 > max(erased_at.values()) + 1, 60, "a time after the tombstones")
        prefixes = tuple(f"{user}/" for user in users)
        self.wait(
            lambda: all(row["final"] for key, row in self.client.read().items() if key.startswith(prefixes)),
            "final credit of the erased users",
        )
        self.await_commit()
        return erased_at

    def send(self, *records: tuple[str, UserRecord]) -> list[UserRecord]:
        """Send the records of users, and return them with their append times."""
        stored = self.client.send(*(self._source_record(user, record) for user, record in records))
        return [replace(record, stored_at=at) for (_, record), at in zip(records, stored, strict=True)]

    def _source_record(self, user: str, record: UserRecord) -> Record:
        attributed, events, _ = self.sources
        if isinstance(record, Touch):
            return attributed, record.result_id, asdict(result_of(user, record))
        # An order without a user has an id with a slash in place of one.
        user_key = None if user.startswith("/") else user
        return events, user, {**asdict(record), "kind": "conversion", "user_key": user_key}


def result_of(user: str, touch: Touch) -> Result:
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


def random_records() -> list[tuple[str, UserRecord]]:
    """Return the records of users and of an order without a user, in random order."""
    order = Conversion("events:0:0", "a", "o0", T, "e", 100, T, 0, 0)
    records: list[tuple[str, UserRecord]] = [("/a/o0", order)]
    for n, history in enumerate(drawn(histories(120, 20), USERS)):
        records += [(f"u{n}", with_unique_ids(f"u{n}", record)) for record in history]
    random.Random(7).shuffle(records)
    return records


def with_unique_ids(user: str, record: UserRecord) -> UserRecord:
    if isinstance(record, Touch):
        return replace(record, result_id=f"{user}-{record.result_id}")
    return replace(record, src=f"{record.src}-{user}", order_id=f"{user}-{record.order_id}")


def test_users_with_a_restart_get_the_credit_of_the_rule(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """Some users are erased midway; tombstones of other topics erase nobody."""
    hop, records = CreditHop(spark, kafka, settings, tmp_path), random_records()
    stored: defaultdict[str, list[UserRecord]] = defaultdict(list)

    def send(part: list[tuple[str, UserRecord]]) -> None:
        for (user, _), record in zip(part, hop.send(*part), strict=True):
            stored[user].append(record)

    def conversions() -> int:
        return sum(isinstance(record, Conversion) for own in stored.values() for record in own)

    hop.start_micro_batch()
    half, three_quarters = len(records) // 2, len(records) * 3 // 4
    send(records[:half])
    hop.wait(lambda: hop.records() == conversions(), "credit for the first half")

    erased_at = hop.erase(sorted({user for user, _ in records if user.endswith("7")}))
    hop.client.send(*((source, "u0", None) for source in hop.sources if source != hop.erasures))
    send(records[half:three_quarters])
    hop.query.stop()
    hop.start_micro_batch()
    send(records[three_quarters:])

    expected: dict[str, OrderCredit] = {}
    for user, own in stored.items():
        expected |= expected_with_erasure(user, own, erased_at.get(user), RULES_ON_BROKER)
    hop.client.await_contents(rows_of(expected), [hop.query])
    newest = hop.client.newest
    assert conversions() == sum(row["records"] for row in newest.values())
    assert "unattributed" == newest["/a/o0/a/o0"]["code"]
    assert min(len(erased_at), sum(row["records"] > 1 for row in newest.values())) >= 5
    assert all(CREDITS.names == list(row) for row in hop.client.rows)


def test_real_time_mode_credits_the_touches_that_it_has_read(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """A timer makes an order's credit final; touches read later count as late, so they are sent before it."""
    with ticking(kafka, TICKS):
        hop = CreditHop(spark, kafka, settings, tmp_path, real_time=True)
        hop.start()
        now = int(time.time() * 1000)
        hop.send(("u", Touch("x", 2, "click", True, now, "x", "i", "c", 0)))
        hop.await_commit()
        hop.send(("u", Conversion("events:0:1", "a", "o1", now + 5, "e", 100, now, 0, 0)))
        hop.wait(lambda: hop.client.read().get("u/a/o1", {}).get("final"), "final credit")

    row = hop.client.newest["u/a/o1"]
    assert ("attributed", 0, ["x"]) == (row["code"], row["late_touches"], [c["result_id"] for c in row["credits"]])
