"""Session, slot check, proof of real-time mode, and failures of a started query."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_rtm.realtime.proof import NotRealTimeError, assert_real_time
from spark_rtm.realtime.queries import wait_until
from spark_rtm.realtime.slots import NotEnoughSlotsError, preflight, slots_free, slots_needed, slots_total
from tests.conftest import SLOTS
from tests.helpers import end_offset, eventually, kafka_rows, new_topic, produce, start_to_kafka

pytestmark = pytest.mark.spark
services = pytest.mark.services

NO_BROKER = "127.0.0.1:1"


def read(spark: SparkSession, kafka: str, topic: str, **options: str) -> DataFrame:
    """Return keys and values only: the sink would take the `partition` column for the target's partition."""
    return kafka_rows(spark, kafka, topic, **options).select("key", "value")


def counted(stream: DataFrame) -> DataFrame:
    return stream.groupBy("value").count().select(F.col("count").cast("string").alias("value"))


# tests/pages/test_cluster_and_slots.py has further plans.
PLANS: dict[str, tuple[Callable[[DataFrame, DataFrame], DataFrame], int]] = {
    "global-aggregation": (lambda stream, _: stream.groupBy().count(), 8 + 1),
    "broadcast-join": (lambda stream, table: stream.join(F.broadcast(table), "key"), 8),
    "broadcast-join-of-an-aggregate": (
        lambda stream, table: stream.join(F.broadcast(table.groupBy("key").count()), "key"),
        8,
    ),
}


@pytest.mark.parametrize(("plan", "needed"), PLANS.values(), ids=PLANS)
def test_slots_are_the_sum_over_all_stages_of_the_stream(
    spark: SparkSession, plan: Callable[[DataFrame, DataFrame], DataFrame], needed: int
) -> None:
    """Source partitions and every shuffle count, but not the static side of a join, which runs before the stream."""
    stream = read(spark, NO_BROKER, "any")
    table = spark.createDataFrame([(b"k", 1)], "key binary, price int")

    assert needed == slots_needed(plan(stream, table), source_partitions=8)


@services
def test_partition_without_a_slot_is_read_with_a_free_one(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """If another query stops, the waiting tasks start within the same batch; the query needs no restart."""
    source, target = new_topic(kafka, SLOTS), new_topic(kafka, 1)
    produce(kafka, source, [(n, b"value") for n in range(SLOTS)])
    held = read(spark, kafka, new_topic(kafka, 2))
    holder = start_to_kafka(held, kafka, tmp_path / "holder", "10 minutes", topic=target)
    eventually(lambda: slots_free(spark) == SLOTS - 2, 60, "two slots taken")

    query = start_to_kafka(read(spark, kafka, source), kafka, tmp_path / "waiting", "10 minutes", topic=target)

    eventually(lambda: end_offset(kafka, target) == SLOTS - 2, 60, "a record of each free slot")
    # Source tasks have read each record, so they are running; Spark's status tracker shows these tasks only later.
    assert 0 == slots_free(spark)
    holder.stop()
    eventually(lambda: end_offset(kafka, target) == SLOTS, 60, "the records of the waiting tasks")
    assert query.lastProgress is None


@services
def test_query_with_exactly_its_slots_answers_at_once(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """All source partitions and both shuffle partitions have a task; until these run, the query holds no slot."""
    source, target = new_topic(kafka, SLOTS - 2), new_topic(kafka, 1)
    produce(kafka, source, [(n, str(n).encode()) for n in range(SLOTS - 2)])
    eventually(lambda: slots_free(spark) == SLOTS, 60, "the end of the last tasks of other tests")
    times = {"kafka.request.timeout.ms": "2000", "kafka.default.api.timeout.ms": "3000"}
    unstarted = counted(read(spark, NO_BROKER, "any", **times))
    without_tasks = start_to_kafka(unstarted, NO_BROKER, tmp_path / "without-tasks", topic="any")
    assert without_tasks.isActive
    assert SLOTS == slots_free(spark)
    without_tasks.stop()

    counts = counted(read(spark, kafka, source))
    query = start_to_kafka(counts, kafka, tmp_path / "exact", "10 minutes", topic=target)

    wait_until(lambda: end_offset(kafka, target) == SLOTS - 2, 60, "a result of each partition", [query])
    assert 0 == slots_free(spark)
    assert query.lastProgress is None


@services
def test_preflight_counts_what_running_queries_hold(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """A real-time aggregation over 3 partitions always holds 3 + 2 slots."""
    source, target = new_topic(kafka, 3), new_topic(kafka, 1)
    produce(kafka, source, [(n, b"value") for n in range(3)])

    query = start_to_kafka(counted(read(spark, kafka, source)), kafka, tmp_path / "running", "1 second", topic=target)

    assert_real_time(query)
    eventually(lambda: slots_free(spark) == SLOTS - 5, 60, "five slots taken in the first batch")
    eventually(lambda: len(query.recentProgress) >= 1, 60, "a finished batch")
    # The number is the same during a batch and between two batches.
    assert {SLOTS - 5} == {slots_free(spark) for _ in range(20)}
    with pytest.raises(NotEnoughSlotsError) as refused:
        preflight(spark, {"another": (read(spark, kafka, source), SLOTS - 4)})
    facts = f"only {SLOTS - 5} of {SLOTS} are free", "would never read some partitions", f"Use local[{SLOTS + 1}]"
    assert [] == [fact for fact in facts if fact not in str(refused.value)]
    query.stop()
    eventually(lambda: slots_free(spark) == SLOTS, 60, "all slots free again")
    assert SLOTS == slots_total(spark)


@services
def test_micro_batch_is_found_and_holds_its_largest_stage(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """The stages of a micro-batch run one after the other, so 3 + 2 tasks hold 3 slots; the other slots are free."""
    source, target = new_topic(kafka, 3), new_topic(kafka, 1)
    produce(kafka, source, [(n, b"value") for n in range(3)])

    counts = counted(read(spark, kafka, source))
    query = start_to_kafka(counts, kafka, tmp_path / "batches", "0 seconds", "processingTime", topic=target)

    with pytest.raises(NotRealTimeError, match="'batches' has no RealTimeStreamScan"):
        assert_real_time(query)
    eventually(lambda: query.lastProgress, 60, "a finished batch")
    eventually(lambda: slots_free(spark) == SLOTS - 3, 60, "three slots taken")
    assert SLOTS - 3 == preflight(spark, {"another": (read(spark, kafka, source), SLOTS - 3)})
