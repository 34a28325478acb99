"""A query with a new checkpoint continues at an old position: no record is lost, and few are repeated."""

import json
from dataclasses import replace

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.errors import StreamingQueryException

from spark_rtm.realtime.positions import NO_BATCH, committed_position
from spark_rtm.realtime.queries import QueryFailedError
from tests.pages.jobs import Mode, ModeJob, newest_entry, run_until, send, start

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
