"""A query with a new checkpoint continues from the old checkpoint's position: no record is lost, few are repeated."""

import json
from dataclasses import replace

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from spark_rtm.realtime.positions import NO_BATCH, committed_position
from spark_rtm.realtime.queries import QueryFailedError, wait_until
from spark_rtm.realtime.slots import slots_total
from tests.helpers import new_topic
from tests.pages.jobs import Mode, ModeJob, newest_entry, prepare, run_until, send, start

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240), pytest.mark.side_by_side]


def fail_in_next_batch(job: ModeJob) -> None:
    query = start(replace(job, shapes=("failing for b",)), "micro-batch")
    with pytest.raises(StreamingQueryException):
        query.awaitTermination(60)
    assert newest_entry(job.checkpoint / "offsets") == newest_entry(job.checkpoint / "commits") + 1


def moved(job: ModeJob, partitions: int = 1) -> ModeJob:
    position = committed_position(job.checkpoint).starting_offsets({job.source: partitions})
    return replace(job, checkpoint=job.checkpoint.with_name("moved"), starting_offsets=position)


@pytest.mark.parametrize("mode", ["micro-batch", "async progress", "continuous", "real-time"])
def test_new_checkpoint_continues_at_committed_position(job: ModeJob, mode: Mode) -> None:
    send(job, "a", "b")
    run_until(job, mode, 2)
    send(job, "c")

    assert ["a", "b", "c"] == run_until(moved(job), "real-time", 3)


def test_planned_batch_without_commit_is_read_again(job: ModeJob) -> None:
    """The batch may have been written or not; the new query reads it, so nothing is lost."""
    send(job, "a")
    run_until(job, "micro-batch", 1)
    send(job, "b")
    fail_in_next_batch(job)

    assert ["a", "b"] == run_until(moved(job), "real-time", 2)


def test_without_commit_new_query_starts_where_old_one_did(job: ModeJob) -> None:
    send(job, "a", "b")
    fail_in_next_batch(replace(job, starting_offsets=json.dumps({job.source: {"0": 1}})))
    assert NO_BATCH == committed_position(job.checkpoint).batch_id

    assert ["b"] == run_until(moved(job), "real-time", 1)


def test_position_that_retention_deleted_ends_the_query(job: ModeJob) -> None:
    """If the records at the position no longer exist, the new query fails instead of skipping them."""
    send(job, "a")
    run_until(job, "micro-batch", 1)
    send(job, "b", "c")
    admin = AdminClient({"bootstrap.servers": job.kafka})
    for deleted in admin.delete_records([TopicPartition(job.source, 0, 2)]).values():
        deleted.result(30)

    with pytest.raises(QueryFailedError, match="OffsetOutOfRangeException"):
        run_until(moved(job), "real-time", 2)


def test_copied_state_continues_the_counts(job: ModeJob) -> None:
    """The old checkpoint has Spark's default settings, which real-time mode rejects. One batch first adds all seeds."""
    old, seeds = replace(job, shapes=("counted",)), new_topic(job.kafka, 1)
    send(job, "a", "a")
    run_until(old, "micro-batch", 1)
    position = committed_position(job.checkpoint)
    reader = job.spark.read.format("statestore").option("batchId", position.batch_id)
    seed = reader.load(str(job.checkpoint)).select("key.key", F.col("value.count").cast("string").alias("value"))
    seed.write.format("kafka").option("kafka.bootstrap.servers", job.kafka).option("topic", seeds).save()

    new = replace(
        moved(job), source=f"{job.source},{seeds}", target=new_topic(job.kafka, 1), shapes=("counted from seeds",)
    )
    new = replace(new, starting_offsets=position.starting_offsets({job.source: 1, seeds: 1}))
    prepare(job.spark)
    assert ["2"] == run_until(new, "micro-batch", 1)
    send(job, "b")

    assert ["2", "3"] == run_until(new, "real-time", 2)


def test_batch_job_takes_slots_of_real_time_query(job: ModeJob) -> None:
    """A batch job on the same cluster holds all slots at a batch boundary, so the query fails."""
    send(job, "a")
    query = start(replace(job, shapes=("counted",)), "real-time", "1 second")
    wait_until(lambda: query.lastProgress, 60, "a batch", [query])
    # Each task holds its slot for two seconds without using a core.
    tasks, hold = 2 * slots_total(job.spark), F.expr("reflect('java.lang.Thread', 'sleep', id - id + 2000)")
    job.spark.range(0, tasks, 1, tasks).select(hold).collect()

    with pytest.raises(QueryFailedError, match="CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT"):
        wait_until(lambda: False, 60, "the failure of the query", [query])
