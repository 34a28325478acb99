import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from examples.attribution.correlation.rule import Result
from examples.attribution.credit.rule import Conversion
from examples.attribution.settings import Settings
from examples.attribution.touches_to_credit import CREDITS, touches_to_credit
from spark_rtm.kafka.ticks import ticking
from spark_rtm.testing.records import Sent
from tests.attribution.credit.histories import RULES
from tests.attribution.hops import TICKS, Hop, sent, ticks

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(400)]

RULES_ON_BROKER = replace(RULES, lateness_ms=2_000, delay_ms=400_000, settle_ms=1_000)


def test_real_time_mode_credits_the_touches_that_it_has_read(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """
    A timer makes an order's credit final; touches read later count as late, so they are sent before it.

    Only a tombstone in `ad-erasures` erases a user. An order without a user is counted.
    """
    settings, now = replace(settings, time_scale=1), int(time.time() * 1000)
    attributed, events, erasures = sources = [settings.topic(n) for n in ("ad-attributed", "events", "ad-erasures")]
    hop = Hop(
        spark,
        kafka,
        lambda rows: touches_to_credit(rows, settings, RULES_ON_BROKER, ticks(spark, kafka)),
        tmp_path,
        sources,
    )
    touch = Result("x", 2, "click", "matched", "t", now, "c", now, "s", now, False, "u", "x", impression_id="i")
    order = Conversion("events:0:1", "a", "o", now + 5, "e", 100, now, 0, 0)

    def await_commit() -> None:
        batches = len(hop.query.recentProgress)
        hop.wait(lambda: len(hop.query.recentProgress) > batches + 1, "a committed batch")

    def rows() -> list[dict[str, Any]]:
        return [row for row in hop.read().values() if row["final"]]

    with ticking(kafka, TICKS):
        hop.run()
        for user in "uv":
            hop.send([sent(user, asdict(replace(touch, result_id=f"of-{user}", user_key=user)))], attributed)
        await_commit()
        for topic in (attributed, events):
            hop.send([Sent(None, b"u")], topic)
        (erased_at,) = hop.send([Sent(None, b"v")], erasures)
        await_commit()
        for user_key in ("u", "v", None):
            fields = {**asdict(order), "kind": "conversion", "user_key": user_key, "src": f"events:0:{user_key}"}
            hop.send([sent(user_key or "o", fields)], events)
        hop.wait(lambda: len(rows()) == 3, "final credit")

    assert {
        "u/a/o": ("attributed", 0, ["of-u"]),
        f"v/a/o/{erased_at}": ("unattributed", 0, []),
        "/a/o/a/o": ("unattributed", 0, []),
    } == {
        row["result_id"]: (row["code"], row["late_touches"], [share["result_id"] for share in row["credits"]])
        for row in rows()
    }
    late = replace(touch, result_id="late", user_key="u")
    hop.send([sent("u", asdict(late))], attributed)
    hop.wait(lambda: any(row["late_touches"] for row in rows()), "a late touch")
    assert all(CREDITS.names == list(row) for row in hop.emitted)
