"""
Run Spark sessions that need a separate process: with repeated tasks and dynamic allocation, or with Spark Connect.

Arguments are the name of a session and the address of a broker; the program prints the outcomes as JSON.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from scripts.pack import files
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import QueryFailedError, stop_completely, wait_until
from spark_rtm.services import connector, java_home
from spark_rtm.services.spark import build_session
from tests.helpers import kafka_rows, new_topic, produce, texts_of

SHORT_BATCHES = {"spark.sql.streaming.realTimeMode.minBatchDuration": "1s"}
DYNAMIC_ALLOCATION = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.minExecutors": "1"}


def outcomes_of(session: str, kafka: str) -> Any:
    """Run a session of `other_sessions.py` and return the outcomes that it prints."""
    command = [sys.executable, "-m", "tests.pages.other_sessions", session, kafka]
    completed = subprocess.run(command, cwd=files.ROOT, capture_output=True, text=True, check=False, timeout=250)
    assert 0 == completed.returncode, completed.stderr[-2000:]
    return json.loads(completed.stdout.partition("=> ")[2])


def clusters(servers: str) -> str:
    """Run queries with tasks that Spark repeats, and with dynamic allocation; return their outcomes, as JSON."""
    # Other local sessions never repeat a task. As on a cluster, the fourth failure of a task is final here.
    session = build_session("repeats", master="local[6,4]", confs=SHORT_BATCHES)
    source = new_topic(servers, 1)
    produce(servers, source, [(0, b"bad")])
    rows = kafka_rows(session, servers, source)
    numbers = rows.select(F.col("value").cast("string").cast("int").alias("number"))

    def send(row: Row) -> None:
        raise ConnectionError(row)

    # One after the other, because the tasks of all three would need more slots.
    outcomes = {
        "cast": _after_batches(numbers.writeStream.format("console"), 3),
        "cast with state": _after_batches(numbers.groupBy("number").count().writeStream.format("console"), 3),
        "foreach": _after_batches(rows.writeStream.foreach(send), 3),
    }
    session.stop()
    # One executor with six slots. The JVM keeps the other settings of its first session.
    small = {"spark.executor.memory": "1g", "spark.driver.memory": "1g", "spark.authenticate": "false"}
    session = build_session(
        "elastic", master="local-cluster[1,6,1024]", confs={**DYNAMIC_ALLOCATION, **SHORT_BATCHES, **small}
    )
    rows = kafka_rows(session, servers, source)
    outcomes["stateless"] = _after_batches(rows.writeStream.format("console"), 1)
    outcomes["stateful"] = _after_batches(rows.groupBy("key").count().writeStream.format("console"), 1)
    return json.dumps(outcomes)


def _after_batches(writer: DataStreamWriter, batches: int) -> str:
    """Start a query; return its failure, or the number of rows in its first batches together."""
    query = writer.outputMode("update").trigger(realTime="3 seconds").start()  # type: ignore[call-overload]
    try:
        wait_until(lambda: len(query.recentProgress) >= batches, 60, f"{batches} batches", [query])
    except QueryFailedError as error:
        return f"ended: {error.condition}: {error}"
    finally:
        query.stop()
    return f"active: {sum(progress['numInputRows'] for progress in query.recentProgress[:batches])} rows"


def spark_connect(servers: str) -> str:
    """Run queries through a Spark Connect server on this machine, and return what the client sees, as JSON."""
    os.environ["JAVA_HOME"] = str(java_home())
    # The client also tries to set each option in the running session, and warns for those that need a new server.
    warnings.simplefilter("ignore")
    builder = SparkSession.builder.remote("local[4]").config("spark.jars", ",".join(map(str, connector().jars)))
    builder = builder.config("spark.app.password", "secret").config("spark.app.name", "connect")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    source = new_topic(servers, 1)
    produce(servers, source, [(0, b"a"), (0, b"a")])
    rows = kafka_rows(session, servers, source)
    counts = rows.groupBy("value").count().select(F.col("count").cast("string").alias("value"))

    def start(stream: DataFrame, interval: str, target: str = "any", sink: str = "kafka") -> Any:
        writer = stream.writeStream.format(sink).option("kafka.bootstrap.servers", servers).outputMode("update")
        return writer.options(checkpointLocation=target, topic=target).trigger(realTime=interval).start()  # type: ignore[call-overload]

    def written(stream: DataFrame, interval: str) -> tuple[Any, list[str]]:
        target = new_topic(servers, 1)
        query = start(stream, interval, target)
        wait_until(lambda: len(texts_of(servers, target)) == 2, 60, "two results", [query])
        return query, texts_of(servers, target)

    copy, copied = written(rows.select("value"), "5 minutes")
    counter, counted = written(counts, "5 seconds")
    wait_until(lambda: counter.lastProgress, 60, "a batch", [counter])
    other = rows.sparkSession.readStream.format("rate").load()
    append = rows.writeStream.format("console")
    return json.dumps(
        {
            "copied": copied,
            "counted": counted,
            "progress of the open batch": copy.lastProgress,
            "rows in progress": counter.lastProgress["numInputRows"],
            "append": _raised(lambda: append.trigger(realTime="5 minutes").start()),  # type: ignore[call-overload]
            "noop": _raised(lambda: start(rows, "5 minutes", sink="noop")),
            "short": _raised(lambda: start(rows, "4 seconds")),
            "rate": _raised(lambda: wait_until(lambda: False, 60, "?", [start(other, "5 minutes", sink="console")])),
            "udf": _raised(lambda: wait_until(lambda: False, 60, "?", [start(_shouted(rows), "5 minutes", "udf")])),
            "sparkContext": _raised(lambda: session.sparkContext),
            "assert_real_time": _raised(lambda: assert_real_time(copy)),
            "stop_completely": _raised(lambda: stop_completely(session, copy)),
            "spark.app.name": session.conf.get("spark.app.name"),
            "spark.app.password": _raised(lambda: session.conf.get("spark.app.password")),
        }
    )


def _shouted(rows: DataFrame) -> DataFrame:
    return rows.select(F.udf(lambda value: value.upper())("value").alias("value"))


def _raised(call: Callable[[], object]) -> str:
    """Return the exception of a call: its module, class and condition."""
    try:
        return f"nothing: {call()}"
    except QueryFailedError as error:
        return f"QueryFailedError {error.condition}"
    except Exception as error:  # noqa: BLE001 - the tests compare any exception
        condition = getattr(error, "getCondition", lambda: None)()
        return f"{type(error).__module__}.{type(error).__name__} {condition}"


SESSIONS: dict[str, Callable[[str], str]] = {
    "clusters": clusters,
    "spark-connect": spark_connect,
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print(f"=> {SESSIONS[sys.argv[1]](sys.argv[2])}")
