"""What only a running query or another session meets: shuffles, clusters, a missing connector, and late rows."""

import subprocess
import sys

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from scripts.pack import files
from tests.helpers import end_offset, eventually, new_topic, produce
from tests.pages.pipelined import PROVOKED
from tests.pages.refusals import template
from tests.pages.running import Place, fresh_session, name_of
from tests.pages.samples import feed

pytestmark = [pytest.mark.spark, pytest.mark.services]

DYNAMIC_ALLOCATION = "Dynamic allocation is not supported for a job that uses a pipelined shuffle dependency"


def outcome_of(session: str, kafka: str) -> str:
    """Run one of the sessions of `other_sessions.py` and return what it says."""
    command = [sys.executable, "-m", "tests.pages.other_sessions", session, kafka]
    ran = subprocess.run(command, cwd=files.ROOT, capture_output=True, text=True, check=False, timeout=170)
    assert 0 == ran.returncode, ran.stderr[-2000:]
    return ran.stdout.partition("=> ")[2].strip()


def start_counting(session: SparkSession, kafka: str) -> None:
    """Start an aggregation and wait until it counts."""
    source = session.readStream.format("kafka").option("kafka.bootstrap.servers", kafka)
    counts = source.option("subscribe", "clicks").load().groupBy("key").count()
    query = counts.writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
    stages = session.sparkContext.statusTracker()
    feed(kafka, ["clicks"])
    eventually(lambda: query.exception() or len(stages.getActiveStageIds()) == 2, 60, "both stages running")


@pytest.mark.parametrize("condition", PROVOKED)
def test_second_job_on_the_shuffle_of_a_running_query_is_refused(condition: str, place: Place) -> None:
    """Nothing that a running query passes from stage to stage can be read twice or saved."""
    with fresh_session(place.spark) as session:
        start_counting(session, place.kafka)

        with pytest.raises(Py4JJavaError) as refused:
            PROVOKED[condition](session.streams.active[0])

    assert condition == name_of(refused.value)
    assert template(condition).partition("<")[0].strip() in str(refused.value)


@pytest.mark.timeout(200)
def test_stateful_query_on_an_elastic_cluster_is_refused(place: Place) -> None:
    """Dynamic allocation ends a query with a shuffle, and leaves one without a shuffle alone."""
    stateless, stateful = outcome_of("dynamic-allocation", place.kafka).splitlines()[:2]

    assert "stateless: runs" == stateless
    assert DYNAMIC_ALLOCATION in stateful


@pytest.mark.timeout(200)
def test_session_without_the_connector_is_refused(place: Place) -> None:
    """The format is known and the connector is not there."""
    assert "KAFKA_DATA_SOURCE_NOT_ENABLED" == outcome_of("without-connector", place.kafka)


def test_row_far_behind_the_watermark_is_counted_in_the_same_batch(place: Place) -> None:
    """The watermark stands still during a batch, so a row that is hours late still makes a result."""
    source, target = new_topic(place.kafka, 1), new_topic(place.kafka, 1)
    with fresh_session(place.spark) as session:
        reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", place.kafka)
        rows = reader.option("subscribe", source).option("startingOffsets", "earliest").load()
        timed = rows.selectExpr("timestamp_seconds(cast(cast(value as string) as long)) as at")
        counts = timed.withWatermark("at", "1 second").groupBy(F.window("at", "10 seconds")).count()
        writer = counts.selectExpr("string(window.start) as value").writeStream.format("kafka").outputMode("update")
        writer = writer.options(**{"kafka.bootstrap.servers": place.kafka, "topic": target})
        writer = writer.option("checkpointLocation", f"{place.folder}/{target}")
        query = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
        for number, seconds in enumerate((b"100000", b"1"), 1):
            produce(place.kafka, source, [(0, seconds)])
            eventually(lambda: query.exception() or end_offset(place.kafka, target) == number, 60, "a result")  # noqa: B023

        assert query.lastProgress is None
        assert query.exception() is None
