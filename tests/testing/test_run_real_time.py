import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_rtm.testing.records import Received
from spark_rtm.testing.run import run_real_time
from spark_rtm.testing.trial import latencies_ms

pytestmark = [pytest.mark.spark, pytest.mark.services]


def number() -> Column:
    """Return the value as a number; other text makes the query fail."""
    return F.col("value").cast("string").cast("long")


def doubled(records: DataFrame) -> DataFrame:
    """Return twice each number; text that is not a number makes the query fail."""
    return records.select("key", (number() * 2).cast("string").alias("value"))


def routed(records: DataFrame, limits: DataFrame) -> DataFrame:
    """Send numbers above the newest limit of their key to the topic `high`, and all others to `low`."""
    newest = limits.groupBy("key").agg(F.max_by(number(), "offset").alias("limit"))
    above = number() > F.col("limit")
    return records.join(F.broadcast(newest), "key").select(
        "key", "value", "headers", F.when(above, "high").otherwise("low").alias("topic")
    )


def counted(records: DataFrame) -> DataFrame:
    return records.groupBy("key").agg(F.count("*").cast("string").alias("value"))


def to_nowhere(records: DataFrame) -> DataFrame:
    """Set a null topic for the value `lost`."""
    return records.select("value", F.when(F.col("value") != b"lost", "known").alias("topic"))


def test_outputs_have_values_topics_keys_and_latencies(spark: SparkSession, kafka: str) -> None:
    """Each output has the topic that the job chose, although the test receives all outputs in one topic."""
    run = run_real_time(
        routed,
        [("a", "5"), ("b", "7"), ("a", "6")],
        tables={"limits": [("a", "4"), ("b", "6"), ("a", "9")]},
        spark=spark,
        bootstrap_servers=kafka,
    )

    assert run.error is None
    assert [b"5", b"6"] == sorted(value or b"" for value in run.values("low"))
    assert [(b"b", b"7")] == [(r.key, r.value) for r in run.records if r.topic == "high"]
    assert 3 == len(run.latencies_ms)
    assert max(run.latencies_ms) < 60_000


def test_stateful_function_writes_a_row_per_record(spark: SparkSession, kafka: str) -> None:
    run = run_real_time(counted, [("k", "x")] * 3, spark=spark, bootstrap_servers=kafka)

    assert [b"1", b"2", b"3"] == run.values()


def test_record_that_ends_the_query_is_reported_with_its_condition(spark: SparkSession, kafka: str) -> None:
    """The error names the condition, and `values` raises it, so a test cannot pass by accident."""
    run = run_real_time(doubled, ["4", "four"], spark=spark, bootstrap_servers=kafka, partitions=1)

    assert run.error
    assert "CAST_INVALID_INPUT" == run.error.condition
    assert [b"8"] == [record.value for record in run.records]
    with pytest.raises(type(run.error), match="four"):
        run.values()


def test_refusal_at_start_is_an_error_of_the_run(spark: SparkSession, kafka: str) -> None:
    """Real-time mode refuses a Python UDF; the run reports the refusal as it reports failures of a running query."""
    upper = F.udf(str.upper)

    run = run_real_time(
        lambda rows: rows.select(upper(F.col("value").cast("string")).alias("value")),
        ["a"],
        spark=spark,
        bootstrap_servers=kafka,
    )

    assert run.error
    assert "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST" in str(run.error.condition)


def test_row_without_topic_ends_the_query_as_in_production(spark: SparkSession, kafka: str) -> None:
    run = run_real_time(to_nowhere, ["found", "lost"], spark=spark, bootstrap_servers=kafka, partitions=1)

    assert run.error
    assert "null topic" in str(run.error)


def test_record_that_the_broker_refuses_fails_the_run(spark: SparkSession, kafka: str) -> None:
    """Without this error, a test would show only that results are missing."""
    with pytest.raises(RuntimeError, match=r"the broker rejected 1 records for topic 'rtm-.*too large"):
        run_real_time(doubled, ["4", "1" * 11_000_000], spark=spark, bootstrap_servers=kafka, partitions=1)


def _output(appended_ms: int) -> Received:
    return Received("", None, None, (), appended_ms)


@pytest.mark.parametrize(
    ("outputs_ms", "per_record", "expected"),
    [
        ([110, 250], [], [10, 50]),
        ([250, 110], [], [10, 50]),
        ([110], [1, 0], [10]),
        ([110], [], []),
        ([110, 250], [2, 1], []),
    ],
    ids=["one each", "out of order", "a dropped record", "unknown counts", "wrong counts"],
)
def test_latency_is_the_difference_of_append_times(
    outputs_ms: list[int], per_record: list[int], expected: list[int]
) -> None:
    assert expected == latencies_ms([100, 200], [_output(at) for at in outputs_ms], per_record)
