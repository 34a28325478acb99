from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.spark.queries import trigger_interval
from spark_rtm.realtime.queries import QueryFailedError
from spark_rtm.realtime.warm_up import MIN_INTERVAL_CONF, Start, warm_up
from tests.helpers import end_offset, kafka_rows, new_topic, produce, start_to_kafka

pytestmark = [pytest.mark.spark, pytest.mark.services]


def counting(spark: SparkSession, kafka: str, topic: str) -> DataFrame:
    return kafka_rows(spark, kafka, topic).groupBy("key").count().select(F.col("count").cast("string").alias("value"))


def starting(stream: DataFrame, kafka: str, target: str, started: list[StreamingQuery]) -> Start:
    def start(folder: Path, interval_seconds: float) -> Iterator[StreamingQuery]:
        interval = trigger_interval(interval_seconds)
        started.append(start_to_kafka(stream, kafka, folder / "query", interval, topic=target))
        yield started[-1]

    return start


def test_runs_so_many_boundaries_and_leaves_nothing(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """The next query must not see anything of the warm-up."""
    source, target, started = new_topic(kafka, 2), new_topic(kafka, 1), list[StreamingQuery]()
    before = spark.conf.get(MIN_INTERVAL_CONF)

    warm_up(spark, starting(counting(spark, kafka, source), kafka, target, started), batches=5, parent=tmp_path)

    (query,) = started
    assert not query.isActive
    assert query.exception() is None
    assert query.lastProgress is not None
    assert query.lastProgress.batchId >= 4
    assert ([], 0) == (list(tmp_path.iterdir()), end_offset(kafka, target))
    assert before == spark.conf.get(MIN_INTERVAL_CONF)


@pytest.mark.parametrize(
    ("has_topic", "error", "message"),
    [
        (True, ValueError, "must not read rows during its warm-up, but it read 1 rows"),
        (False, QueryFailedError, "UnknownTopicOrPartition"),
    ],
    ids=["source with records", "failed query"],
)
def test_query_that_cannot_warm_up_is_an_error_and_stopped(
    spark: SparkSession, kafka: str, tmp_path: Path, has_topic: bool, error: type[Exception], message: str
) -> None:
    """A query that fails here would fail in production as well, and results of records would be written again."""
    source, target, started = new_topic(kafka, 2), new_topic(kafka, 1), list[StreamingQuery]()
    produce(kafka, source, [(0, b"a")])
    stream = counting(spark, kafka, source if has_topic else "no-such-topic")

    with pytest.raises(error, match=message):
        warm_up(spark, starting(stream, kafka, target, started), batches=1000, parent=tmp_path)

    assert [False] == [query.isActive for query in started]
    assert [] == list(tmp_path.iterdir())
