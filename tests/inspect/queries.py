"""
Write a checkpoint with a real query of every kind, then wait during a batch to be killed.

Arguments are the address of a broker and a folder. Each checkpoint is a subfolder. At the end, the program writes
`topics.json`: the source topics of each checkpoint.
"""

import itertools
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_rtm.realtime.queries import stop_completely, wait_until
from spark_rtm.realtime.slots import slots_free
from spark_rtm.services.spark import CONFS, build_session
from spark_rtm.testing.plugin import MIN_INTERVAL
from tests.helpers import RARE_POLLS, add_partition, end_offset, new_topic, produce
from tests.pages.jobs import FORMAT, PROVIDER, Mode, ModeJob, newest_entry, run_until, send, start, stream_of

# All queries that run side by side have slots at the same time.
SLOTS = 24
INTERVAL = "2 seconds"
# The tasks of a continuous query do not end, so its slots are never free. It runs until it is killed.
STILL_RUNNING = {"continuous"}
CONTINUOUS_PARTITIONS = 3
# A task that reads the value `b` holds its slot for ten minutes.
SLOW = "if(value = 'b', reflect('java.lang.Thread', 'sleep', 600000L), value)"
SLOW_PARTITIONS = 17
STARVED_PARTITIONS = 1 + SLOTS - CONTINUOUS_PARTITIONS - SLOW_PARTITIONS
STATE_SETTINGS = [key for key in CONFS if "stateStore" in key]
READY = "topics.json"


class Writer:
    """Starts queries with Spark's default settings, each with its own topics and checkpoint."""

    def __init__(self, spark: SparkSession, kafka: str, folder: Path) -> None:
        self.spark, self.kafka, self.folder = spark, kafka, folder
        self.topics: dict[str, list[str]] = {}

    def job(self, name: str, *shapes: str, partitions: int = 1) -> ModeJob:
        session = self.spark.newSession()
        for key in STATE_SETTINGS:
            session.conf.unset(key)
        source = new_topic(self.kafka, partitions)
        self.topics[name] = [source]
        return ModeJob(session, self.kafka, source, new_topic(self.kafka, 1), self.folder / name, shapes)


def sink_of(job: ModeJob, stream: DataFrame) -> DataStreamWriter:
    options = {"kafka.bootstrap.servers": job.kafka, "topic": job.target, "checkpointLocation": str(job.checkpoint)}
    return stream.writeStream.format("kafka").outputMode("update").options(**options)


def wait_for(job: ModeJob, query: StreamingQuery, records: int, batch: int) -> None:
    wait_until(
        lambda: end_offset(job.kafka, job.target) >= records, 90, f"{records} records of {job.checkpoint.name}", [query]
    )
    wait_until(lambda: newest_entry(job.checkpoint / "commits") >= batch, 90, f"batch {batch}", [query])


def wait_for_next_commit(job: ModeJob, query: StreamingQuery, records: int) -> None:
    wait_for(job, query, records, 0)
    wait_for(job, query, records, newest_entry(job.checkpoint / "commits") + 1)


def write_side_by_side(writer: Writer) -> None:
    modes: dict[str, tuple[Mode, tuple[str, ...]]] = {
        "micro-batch": ("micro-batch", ()),
        "micro-batch-state": ("micro-batch", ("counted",)),
        "async": ("async progress", ()),
        "continuous": ("continuous", ()),
        "real-time": ("real-time", ()),
        "grown": ("real-time", ()),
    }
    partitions = {"continuous": CONTINUOUS_PARTITIONS}
    jobs = {name: writer.job(name, *shapes, partitions=partitions.get(name, 1)) for name, (_, shapes) in modes.items()}
    for job in jobs.values():
        send(job, "a")
    queries = {name: start(job, modes[name][0], INTERVAL) for name, job in jobs.items()}
    for name, job in jobs.items():
        wait_for(job, queries[name], 1, 0)
    add_partition(writer.kafka, jobs["grown"].source)
    for name, job in jobs.items():
        batch = newest_entry(job.checkpoint / "commits") + 1
        send(job, "b")
        wait_for(job, queries[name], 2, 0 if name == "async" else batch)
    # The record of the new partition is read by the batch after the one that was open.
    for name, records in (("real-time", 2), ("grown", 3)):
        wait_for_next_commit(jobs[name], queries[name], records)
    send_until_a_batch_is_missing(jobs["async"], queries["async"])
    for name in jobs.keys() - STILL_RUNNING:
        stop_completely(writer.spark, queries[name])
    # No query reads this record, or the new partition of a topic whose query has ended.
    send(jobs["real-time"], "late")
    add_partition(writer.kafka, jobs["real-time"].source)


def send_until_a_batch_is_missing(job: ModeJob, query: StreamingQuery) -> None:
    """Send records until async progress tracking has omitted a batch from the commit log."""
    commits = job.checkpoint / "commits"
    for count in itertools.count(3):
        if newest_entry(commits) >= len(list(commits.glob("[0-9]*"))):
            return
        send(job, "c")
        wait_for(job, query, count, 0)


def move(writer: Writer) -> None:
    rocksdb = {FORMAT: "2", PROVIDER: CONFS[PROVIDER]}
    moved = writer.job("moved", "counted")
    for key, value in rocksdb.items():
        moved.spark.conf.set(key, value)
    send(moved, "a")
    run_until(moved, "micro-batch", 1)
    send(moved, "b")
    for key in rocksdb:
        moved.spark.conf.unset(key)
    run_until(moved, "real-time", 2, INTERVAL)


def read_two_topics(writer: Writer) -> None:
    """Run a query with two sources, which ends without a stop."""
    first = writer.job("two-sources")
    second = replace(first, source=new_topic(writer.kafka, 2))
    writer.topics["two-sources"].append(second.source)
    send(first, "a")
    send(second, "b")
    query = sink_of(first, stream_of(first).union(stream_of(second))).trigger(availableNow=True).start()
    query.awaitTermination(90)


def write_until_killed(writer: Writer) -> None:
    """Start a micro-batch that runs to the end of the program, and meanwhile run a query without enough slots."""
    slow = writer.job("killed", partitions=SLOW_PARTITIONS)
    sink = sink_of(slow, stream_of(slow).withColumn("value", F.expr(SLOW))).trigger(processingTime="0 seconds")
    send(slow, "a")
    first = sink.start()
    wait_for(slow, first, 1, 0)
    # A running query could begin a batch with some of these records, and read the others in the batch after it.
    stop_completely(writer.spark, first)
    produce(writer.kafka, slow.source, [(number, b"b") for number in range(SLOW_PARTITIONS)])
    second = sink.start()
    starved = writer.job("starved", partitions=STARVED_PARTITIONS)
    wait_until(lambda: slots_free(writer.spark) == STARVED_PARTITIONS - 1, 90, "a task for each partition", [second])

    produce(writer.kafka, starved.source, [(number, b"a") for number in range(STARVED_PARTITIONS)])
    running = start(starved, "real-time", INTERVAL)
    wait_for_next_commit(starved, running, STARVED_PARTITIONS - 1)
    stop_completely(writer.spark, running)


def main(kafka: str, folder: Path) -> None:
    """Write all checkpoints, report, and wait to be killed."""
    spark = build_session("checkpoints", slots=SLOTS, confs={**MIN_INTERVAL, **RARE_POLLS})
    writer = Writer(spark, kafka, folder)
    # Each part mostly waits for the ends of its batches.
    with ThreadPoolExecutor() as pool:
        for part in [pool.submit(part, writer) for part in (write_side_by_side, move, read_two_topics)]:
            part.result()
    write_until_killed(writer)
    partial = folder / f"{READY}.partial"
    partial.write_text(json.dumps(writer.topics))
    partial.rename(folder / READY)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
