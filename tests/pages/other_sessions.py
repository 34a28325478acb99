"""
Run Spark sessions that cannot stand beside the session of the tests, each in a process of its own.

The name of a session and the address of a broker arrive as arguments; the error that the session gives is printed.
Real-time mode depends on what a session starts with: its connector, and a cluster of fixed size.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from examples.attribution.settings import Settings
from examples.realtime.slots import QueryFailedError, build_session, wait_until
from examples.services import java_home

TWO_SECONDS = {"spark.sql.streaming.realTimeMode.minBatchDuration": "1s"}
ELASTIC = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.minExecutors": "1"}


def without_connector(servers: str) -> str:
    """Read Kafka in a plain session and return the condition."""
    os.environ["JAVA_HOME"] = str(java_home())
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        session.readStream.format("kafka").option("kafka.bootstrap.servers", servers).load()
    except AnalysisException as error:
        return str(error.getCondition())
    return "nothing"


def dynamic_allocation(servers: str) -> str:
    """Run a stateless and a stateful query on a cluster that grows and shrinks, and return what became of each."""
    small = {"spark.executor.memory": "1g", "spark.driver.memory": "1g"}
    # One executor with six slots.
    elastic = replace(Settings(), master="local-cluster[1,6,1024]")
    session = build_session(elastic, {**ELASTIC, **TWO_SECONDS, **small})
    source = session.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    rows = source.option("subscribe", "clicks").load()
    return f"stateless: {_fate(rows)}\nstateful: {_fate(rows.groupBy('key').count())}"


def _fate(stream: DataFrame) -> str:
    writer = stream.writeStream.format("console").outputMode("update")
    query = writer.trigger(realTime="2 seconds").start()  # type: ignore[call-overload]
    try:
        wait_until(lambda: query.lastProgress, 60, "a batch", [query])
    except QueryFailedError as error:
        return str(error)
    finally:
        query.stop()
    return "runs"


SESSIONS: dict[str, Callable[[str], str]] = {
    "without-connector": without_connector,
    "dynamic-allocation": dynamic_allocation,
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print(f"=> {SESSIONS[sys.argv[1]](sys.argv[2])}")
