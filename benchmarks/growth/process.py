"""
The two processes of a point: the first one fills the state, and the second one runs the queries.

The memory of the second process therefore excludes the fill.
"""

import json
import os
import sys
import threading
import time
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.growth.engine import filled_file
from benchmarks.growth.points import Point
from benchmarks.harness.engine import Run
from benchmarks.spark.queries import SparkOptions, start_queries
from benchmarks.spark.serving import run_of, session, warm, write_progress
from spark_rtm.realtime.queries import stop_completely, wait_until

CHUNK_KEYS = 500_000
FIRST_BATCH_SECONDS = 400.0


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


def fill(spark: SparkSession, point: Point, options: SparkOptions, run: Run, max_seconds: float) -> None:
    """
    Put the point's keys into the state of each query until the time is over.

    Micro-batch queries read the keys from the topic, and real-time queries continue their checkpoints. The records have
    no sequence number, so they have no output.
    """
    deadline = time.monotonic() + max_seconds
    queries = start(spark, point, replace(options, mode="micro-batch"), run)
    for first in range(0, point.state_keys, CHUNK_KEYS):
        if time.monotonic() > deadline:
            break
        keys = spark.range(first, min(first + CHUNK_KEYS, point.state_keys), numPartitions=point.cores)
        named = keys.select(F.concat(F.lit("k"), "id").alias("id"))
        records = named.select(F.col("id").alias("key"), F.to_json(F.struct("id")).alias("value"))
        writer = records.write.format("kafka").option("kafka.bootstrap.servers", run.bootstrap_servers)
        writer.option("topic", run.source).save()
        for query in queries:
            query.processAllAvailable()
    stop_completely(spark, *queries)


def start(spark: SparkSession, point: Point, options: SparkOptions, run: Run) -> list[StreamingQuery]:
    """Start the queries of a point. All queries except the first write to an unread topic."""
    queries = list[StreamingQuery]()
    for number in range(point.queries):
        queries += start_queries(spark, options, run if number == 0 else replace(run, target=run.middle), number)
    return queries


def main() -> None:
    """Fill the state, or run the queries of the argument's point on its cores."""
    values = json.loads(sys.argv[1])
    point, options, run = Point(**values["point"]), SparkOptions(**values["options"]), run_of(values["run"])
    # The JVM is a child of this process, so it inherits the cores and counts only them.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: point.cores])
    spark = session(options)
    if values["task"] == "serve":
        serve(spark, point, options, run)
    else:
        fill(spark, point, options, run, values["max_fill_seconds"])
        filled_file(run).touch()
        # The engine stops this process. Otherwise the engine could not distinguish its end from a failure.
        threading.Event().wait()


if __name__ == "__main__":
    main()
