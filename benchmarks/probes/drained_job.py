"""The job of the benchmark `drains`: two queries that restart on their checkpoints after each stop."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm import control_socket
from spark_rtm.realtime import control
from spark_rtm.realtime.queries import KAFKA_SINK, wait_until
from spark_rtm.realtime.warm_up import warm_up_silently
from spark_rtm.services.cluster import job_confs
from spark_rtm.services.spark import build_session

TRANSFORMS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "copy": lambda rows: rows.select("key", "value"),
    "counts": lambda rows: rows.groupBy("key").count().selectExpr("key", "cast(count as string) value"),
}
LONG_SECONDS = 86_400.0
WARM_UP_BATCHES = 5


def main() -> None:
    """Run the queries until the process is killed. The argument is JSON with servers, folder, master and socket."""
    argument = json.loads(sys.argv[1])
    servers, folder, master = argument["servers"], Path(argument["folder"]), argument["master"]
    spark = build_session("drains", master=master, slots=8, confs=job_confs() if master else {})

    def starters(checkpoints: Path) -> dict[str, Callable[[], StreamingQuery]]:
        return {name: partial(start, spark, servers, checkpoints, name) for name in TRANSFORMS}

    # In a new JVM, the first batch boundaries of a query take seconds.
    warm_up_silently(spark, starters, folder, batches=WARM_UP_BATCHES)
    queries = {name: starter() for name, starter in starters(folder).items()}

    def restart_stopped() -> bool:
        for name, query in queries.items():
            if not query.isActive:
                query.awaitTermination()  # the session releases the name a moment after the query has ended
                queries[name] = start(spark, servers, folder, name)
        return False

    with control_socket.listen(spark, Path(argument["socket"])):
        wait_until(restart_stopped, LONG_SECONDS, "the end of the benchmark")


def start(spark: SparkSession, servers: str, folder: Path, name: str) -> StreamingQuery:
    """Start the query `name` from the topic `source` to the topic `name`, at the default interval of five minutes."""
    kafka = {"kafka.bootstrap.servers": servers}
    source = spark.readStream.format(control.SOURCE).options(**kafka, subscribe="source", startingOffsets="earliest")
    writer = TRANSFORMS[name](source.load()).writeStream.format("kafka").options(**kafka, **KAFKA_SINK, topic=name)
    writer = writer.option("checkpointLocation", str(folder / name)).queryName(name).outputMode("update")
    query: StreamingQuery = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
    return query


if __name__ == "__main__":
    main()
