"""Run Spark for one point: one process fills the state, and a second one, which is measured, runs the queries."""

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.growth.points import Point
from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.run import Case
from benchmarks.spark.engine import (
    START_SECONDS,
    batches_file,
    ready_file,
    run_of,
    session,
    start_process,
    warm,
    write_progress,
)
from benchmarks.spark.queries import SparkOptions, start_queries
from spark_rtm.realtime.queries import stop_completely, wait_until
from spark_rtm.services.child import wait_until_ready

FIRST_QUERY = "copy_0"
CHUNK_KEYS = 500_000
FILL_SECONDS = 600.0
FIRST_BATCH_SECONDS = 400.0


def case_of(point: Point, base: SparkOptions) -> Case:
    """Return the harness case of a point. Only the first query writes to the measured topic."""
    options = replace(base, shuffle_partitions=point.partitions, slots=max(base.slots, point.slots))
    start = partial(_engine, {"point": asdict(point), "options": asdict(options)})
    intervals = {FIRST_QUERY: base.interval_seconds}
    return Case(point.label, "counts", start, intervals, partitions=point.partitions, shape=point.shape)


@contextmanager
def _engine(argument: dict[str, Any], run: Run) -> Iterator[Engine]:
    if not hasattr(os, "sched_setaffinity"):
        raise RuntimeError("this system cannot pin a process to cores, so the benchmark cannot run; use Linux")
    # The process that fills the state also reports that it is ready, as copy 1.
    for copy, task, seconds in ((1, "fill", START_SECONDS + FILL_SECONDS), (0, "serve", START_SECONDS)):
        whole, log_path = {**argument, "run": asdict(run), "task": task}, run.folder / f"spark-{task}.log"
        child = start_process(f"Spark ({task})", whole, log_path, "benchmarks.growth.engine")
        try:
            wait_until_ready(child, ready_file(run, copy).exists, seconds)
            if task == "serve":
                yield Engine((child,), (batches_file(run, copy),))
        finally:
            child.stop()


def serve(spark: SparkSession, point: Point, options: SparkOptions, run: Run) -> None:
    """Run the queries of a point until this process is stopped."""
    # The source already contains the keys of the fill, and a warm-up must not read records.
    warm(spark, options, replace(run, source=run.rejected), partial(start, spark, point))
    queries = start(spark, point, options, run)
    # The first batch loads the state, which takes many seconds if the state is large.
    wait_until(
        lambda: all(query.lastProgress for query in queries), FIRST_BATCH_SECONDS, "the end of the first batch", queries
    )
    write_progress(queries, run, 0, options.interval_seconds)


def fill(spark: SparkSession, point: Point, options: SparkOptions, run: Run) -> None:
    """
    Fill the state of each query with the point's keys.

    Micro-batch queries read the keys from the topic. Real-time queries later resume from the checkpoints of these
    queries. The records have no sequence number, so the queries emit no output for them.
    """
    queries = start(spark, point, replace(options, mode="micro-batch"), run)
    for first in range(0, point.state_keys, CHUNK_KEYS):
        keys = spark.range(first, min(first + CHUNK_KEYS, point.state_keys), numPartitions=point.cores)
        named = keys.select(F.concat(F.lit("k"), "id").alias("id"))
        records = named.select(F.col("id").alias("key"), F.to_json(F.struct("id")).alias("value"))
        writer = records.write.format("kafka").option("kafka.bootstrap.servers", run.bootstrap_servers)
        writer.option("topic", run.source).save()
        for query in queries:
            query.processAllAvailable()
    stop_completely(spark, *queries)


def start(spark: SparkSession, point: Point, options: SparkOptions, run: Run) -> list[StreamingQuery]:
    """Start the queries of a point. All queries except the first write to a topic that is not measured."""
    queries = list[StreamingQuery]()
    for number in range(point.queries):
        queries += start_queries(spark, options, run if number == 0 else replace(run, target=run.middle), number)
    return queries


def main() -> None:
    """Fill the state or run the queries of a point, which is the argument, on at most the point's number of cores."""
    values = json.loads(sys.argv[1])
    point, options, run = Point(**values["point"]), SparkOptions(**values["options"]), run_of(values["run"])
    # The JVM is a child of this process, so it inherits the CPU affinity and counts only these cores.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: point.cores])
    spark = session(options)
    if values["task"] == "serve":
        serve(spark, point, options, run)
    else:
        fill(spark, point, options, run)
        ready_file(run, 1).touch()
        # The engine stops this process. Otherwise the engine could not distinguish its end from a failure.
        threading.Event().wait()


if __name__ == "__main__":
    main()
