"""Errors that need a running query or another session: shuffles, clusters, a missing connector, late rows."""

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_rtm.realtime.failures import name_of
from tests.helpers import end_offset, eventually, kafka_rows, new_topic, produce, start_to_kafka
from tests.pages.other_sessions import outcomes_of
from tests.pages.pipelined import PROVOKED
from tests.pages.refusals import template
from tests.pages.running import PageEnvironment, fresh_session
from tests.pages.samples import feed

pytestmark = [pytest.mark.spark, pytest.mark.services]

DYNAMIC_ALLOCATION = "Dynamic allocation is not supported for a job that uses a pipelined shuffle dependency"


def start_counting(session: SparkSession, kafka: str) -> None:
    """Start an aggregation and wait until it counts."""
    counts = kafka_rows(session, kafka, "clicks", startingOffsets="latest").groupBy("key").count()
    query = counts.writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
    stages = session.sparkContext.statusTracker()
    feed(kafka, ["clicks"])
    eventually(lambda: query.exception() or len(stages.getActiveStageIds()) == 2, 60, "both stages running")


@pytest.mark.proves("conditions provoked")
@pytest.mark.parametrize("condition", PROVOKED)
def test_second_job_on_shuffle_of_running_query_is_refused(condition: str, environment: PageEnvironment) -> None:
    """Spark refuses to read or checkpoint the shuffle of a running query from a second job."""
    with fresh_session(environment.spark) as session:
        start_counting(session, environment.kafka)

        with pytest.raises(Py4JJavaError) as raised:
            PROVOKED[condition](session.streams.active[0])

    assert condition == name_of(raised.value)
    assert template(condition).partition("<")[0].strip() in str(raised.value)


@pytest.fixture(scope="module")
def clusters(kafka: str) -> dict[str, str]:
    return dict(outcomes_of("clusters", kafka))


@pytest.mark.proves("conditions provoked")
def test_stateful_query_with_dynamic_allocation_is_refused(clusters: dict[str, str]) -> None:
    assert clusters["stateless"].startswith("active")
    assert DYNAMIC_ALLOCATION in clusters["stateful"]


def test_bad_record_on_a_cluster_ends_a_query_or_stops_its_progress(clusters: dict[str, str]) -> None:
    """If Spark repeats tasks, the query fails after an error in an expression, and stays active after one in a sink."""
    assert clusters["cast"].startswith("ended: CAST_INVALID_INPUT")
    assert clusters["cast with state"].startswith("ended: CAST_INVALID_INPUT")
    assert "active: 0 rows" == clusters["foreach"]


@pytest.mark.proves("conditions provoked")
def test_session_without_kafka_connector_is_refused(spark: SparkSession) -> None:
    """Spark recognizes the format `kafka` but reports that the connector is missing."""
    jvm: Any = spark._jvm  # noqa: SLF001 - not public
    thread = jvm.java.lang.Thread.currentThread()
    loader = thread.getContextClassLoader()
    thread.setContextClassLoader(jvm.org.apache.spark.util.Utils.getSparkClassLoader())
    try:
        with pytest.raises(AnalysisException) as refused:
            spark.readStream.format("kafka").load()
    finally:
        thread.setContextClassLoader(loader)

    assert "KAFKA_DATA_SOURCE_NOT_ENABLED" == refused.value.getCondition()


def test_row_behind_watermark_is_counted_in_same_batch(environment: PageEnvironment) -> None:
    """The watermark does not advance during a batch, so a row that is hours late still produces a result."""
    source, target = new_topic(environment.kafka, 1), new_topic(environment.kafka, 1)
    with fresh_session(environment.spark) as session:
        timed = kafka_rows(session, environment.kafka, source).selectExpr(
            "timestamp_seconds(cast(cast(value as string) as long)) as at"
        )
        counts = timed.withWatermark("at", "1 second").groupBy(F.window("at", "10 seconds")).count()
        starts = counts.selectExpr("string(window.start) as value")
        query = start_to_kafka(starts, environment.kafka, environment.folder / target, "5 minutes", topic=target)
        for number, seconds in enumerate((b"100000", b"1"), 1):
            produce(environment.kafka, source, [(0, seconds)])
            eventually(lambda: query.exception() or end_offset(environment.kafka, target) == number, 60, "a result")  # noqa: B023

        assert query.lastProgress is None
        assert query.exception() is None
