import json
import re
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from scripts.pack import files
from spark_rtm.realtime.queries import wait_until
from spark_rtm.text import markdown
from tests.helpers import produce, texts_of
from tests.pages.running import run_with_own_topics

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(200)]

IMPOSSIBLE = {"year 2100": 4_102_444_800_000, "huge": 10**16, "negative": -(10**16), "none": None}
SOURCES, TARGETS = ("clicks", "impressions"), ("clicks-counted", "clicks-enriched", "clicks-rejected")
BATCHES = 4
"""Batches after which a watermark that has moved drops rows."""


def blocks() -> dict[str, str]:
    """Return each code block that starts a query which reads a number as a time, or joins two streams."""
    found = {}
    for page in files.references(files.ROOT):
        for fence in markdown.fences(page.read_text(encoding="utf-8")):
            has_time = re.search(r"withWatermark|inner_join\(|timestamp_(?:seconds|millis|micros)", fence.code)
            if fence.language == "python" and has_time and ".start()" in fence.code:
                found[f"{page.stem}:{fence.line}"] = fence.code
    return found


BLOCKS = blocks()


def test_pages_with_a_watermark_are_known() -> None:
    assert {"joins", "pacing", "state"} == {name.partition(":")[0] for name in BLOCKS}


@pytest.mark.parametrize("name", BLOCKS)
def test_impossible_time_neither_ends_a_query_nor_drops_later_rows(
    spark: SparkSession, kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka)
    code = BLOCKS[name].replace("5 minutes", "1 second").replace("0 seconds", "1 second")
    topics = [topic for topic in (*SOURCES, *TARGETS) if f'"{topic}"' in code]
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    names, own_topics = run_with_own_topics(code, topics, session, kafka, tmp_path)
    own = dict(zip(topics, own_topics, strict=True))
    [target] = [own[topic] for topic in TARGETS[:2] if topic in own]
    queries, query = session.streams.active, names["query"]

    def send(ts: int | None, mark: str) -> None:
        fields = {"click_id": mark, "user_id": mark, "ad_id": mark, "ts": ts}
        for topic in own.keys() & {*SOURCES}:
            produce(kafka, own[topic], [(0, json.dumps(fields).encode())])

    wait_until(lambda: query.lastProgress, 60, "a batch", queries)
    for mark, ts in {**IMPOSSIBLE, "old": 0}.items():
        send(ts, mark)
    for number in range(BATCHES):
        last = query.lastProgress.batchId
        send(int(time.time() * 1000), f"now{number}")
        wait_until(lambda: query.lastProgress.batchId > last, 60, "a batch", queries)  # noqa: B023

    final = f'"now{BATCHES - 1}"'
    wait_until(lambda: any(final in text for text in texts_of(kafka, target)), 30, "the record of now", queries)
    assert not [text for text in texts_of(kafka, target) for mark in IMPOSSIBLE if f'"{mark}"' in text]
    if "clicks-rejected" in own:
        assert set(IMPOSSIBLE) == {json.loads(text)["user_id"] for text in texts_of(kafka, own["clicks-rejected"])}
