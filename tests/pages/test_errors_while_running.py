from collections.abc import Callable, Iterator
from typing import Any

import pytest
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_rtm.realtime.failures import name_of
from spark_rtm.realtime.queries import QueryFailedError, wait_until
from tests.helpers import eventually, kafka_rows, new_topic, produce
from tests.pages.refusals import template
from tests.pages.running import PageEnvironment, fresh_session
from tests.pages.samples import feed

pytestmark = [pytest.mark.spark, pytest.mark.services]

DYNAMIC_ALLOCATION = "Dynamic allocation is not supported for a job that uses a pipelined shuffle dependency"


def count_with_checkpoint(rows: JavaObject) -> None:
    rows.context().setCheckpointDir("checkpoints/rdd")
    rows.checkpoint()
    rows.count()


PROVOKED: dict[str, Callable[[JavaObject], object]] = {
    "PIPELINED_SHUFFLE_CROSS_JOB_REUSE": lambda rows: rows.count(),
    "PIPELINED_SHUFFLE_UNSUPPORTED": count_with_checkpoint,
}
"""Conditions that no public call causes, and the functions that cause them with the rows of a running query."""


@pytest.mark.proves("conditions provoked", len(PROVOKED))
def test_second_job_on_shuffle_of_running_query_is_refused(environment: PageEnvironment) -> None:
    with fresh_session(environment.spark) as session:
        counts = kafka_rows(session, environment.kafka, "clicks", startingOffsets="latest").groupBy("key").count()
        query = in_console(counts, "5 minutes")
        stages = session.sparkContext.statusTracker()
        feed(environment.kafka, ["clicks"])
        eventually(lambda: query.exception() or len(stages.getActiveStageIds()) == 2, 60, "both stages running")
        plan = query._jsq.streamingQuery().lastExecution().executedPlan()  # noqa: SLF001 - not public

        for condition, provoke in PROVOKED.items():
            with pytest.raises(Py4JJavaError) as raised:
                provoke(plan.children().head().execute())

            assert condition == name_of(raised.value)
            assert template(condition).partition("<")[0].strip() in str(raised.value)


def in_console(rows: DataFrame, interval: str) -> StreamingQuery:
    return started(rows.writeStream.format("console"), interval)


def started(writer: DataStreamWriter, interval: str) -> StreamingQuery:
    query: StreamingQuery = writer.outputMode("update").trigger(realTime=interval).start()  # type: ignore[call-overload]
    return query


@pytest.mark.proves("conditions provoked")
def test_stateful_query_with_dynamic_allocation_is_refused(spark: SparkSession, kafka: str) -> None:
    """The scheduler reads the settings at each job; the second setting makes it consider a local session, too."""
    rows, conf = kafka_rows(spark, kafka, new_topic(kafka, 1)), spark._jsc.sc().conf()  # noqa: SLF001 - the context's own settings
    settings = ("spark.dynamicAllocation.enabled", "spark.dynamicAllocation.testing")
    for name in settings:
        conf.set(name, "true")
    try:
        stateless = in_console(rows, "1 second")
        stateful = in_console(rows.groupBy("key").count(), "1 second")
        error = eventually(stateful.exception, 60, "the refusal")
        wait_until(lambda: stateless.lastProgress, 60, "a batch", [stateless])
    finally:
        for name in settings:
            conf.remove(name)
    assert DYNAMIC_ALLOCATION in str(error)


@pytest.fixture
def repeated_tasks(spark: SparkSession) -> Iterator[None]:
    """Repeat failed tasks three times, as a cluster does, which the master `local[24,4]` also does."""
    scheduler: Any = spark._jsc.sc().taskScheduler()  # noqa: SLF001 - not public
    limit = scheduler.getClass().getDeclaredField("maxTaskFailures")
    limit.setAccessible(True)
    before = limit.get(scheduler)
    limit.set(scheduler, 4)
    yield
    limit.set(scheduler, before)


@pytest.mark.usefixtures("repeated_tasks")
def test_bad_record_on_a_cluster_ends_a_query_or_stops_its_progress(spark: SparkSession, kafka: str) -> None:
    """If Spark repeats tasks, the query fails after an error in an expression, and stays active after one in a sink."""
    source = new_topic(kafka, 1)
    produce(kafka, source, [(0, b"bad")])
    rows = kafka_rows(spark, kafka, source)
    numbers = rows.select(F.col("value").cast("string").cast("int").alias("number"))

    def send(row: Row) -> None:
        raise ConnectionError(row)

    in_sink = started(rows.writeStream.foreach(send), "2 seconds")
    for in_expression in (numbers, numbers.groupBy("number").count()):
        with pytest.raises(QueryFailedError) as failed:
            wait_until(lambda: False, 60, "a failure", [in_console(in_expression, "2 seconds")])
        assert "CAST_INVALID_INPUT" == failed.value.condition
    wait_until(lambda: len(in_sink.recentProgress) >= 3, 60, "three batches", [in_sink])
    assert 0 == sum(batch.numInputRows for batch in in_sink.recentProgress)


@pytest.mark.proves("conditions provoked")
def test_session_without_kafka_connector_is_refused(spark: SparkSession) -> None:
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
