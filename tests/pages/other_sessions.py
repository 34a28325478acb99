"""
Run Spark sessions that need a separate process, because they lack the connector or use dynamic allocation.

Arguments are the name of a session and the address of a broker; the program prints the resulting error.
"""

import os
import sys
import tempfile
from collections.abc import Callable

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from examples.realtime.queries import QueryFailedError, wait_until
from examples.services import java_home
from examples.services.spark import build_session

SHORT_BATCHES = {"spark.sql.streaming.realTimeMode.minBatchDuration": "1s"}
DYNAMIC_ALLOCATION = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.minExecutors": "1"}


def without_connector(servers: str) -> str:
    """Read Kafka in a session without the connector and return the error condition."""
    os.environ["JAVA_HOME"] = str(java_home())
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        session.readStream.format("kafka").option("kafka.bootstrap.servers", servers).load()
    except AnalysisException as error:
        return str(error.getCondition())
    return "nothing"


def dynamic_allocation(servers: str) -> str:
    """Run a stateless and a stateful query with dynamic allocation, and return the outcome of each."""
    small = {"spark.executor.memory": "1g", "spark.driver.memory": "1g"}
    # One executor with six slots.
    confs = {**DYNAMIC_ALLOCATION, **SHORT_BATCHES, **small}
    session = build_session("elastic", master="local-cluster[1,6,1024]", confs=confs)
    source = session.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    rows = source.option("subscribe", "clicks").load()
    return f"stateless: {_outcome(rows)}\nstateful: {_outcome(rows.groupBy('key').count())}"


def _outcome(stream: DataFrame) -> str:
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
