"""
A Spark session fit for real-time mode, a slot check before a query starts, and proof that it runs in real-time mode.

What arrives are settings and streaming DataFrames; what leaves are a session, facts about queries, and clear errors.
Real-time mode demands free slots for all stages at once, and reports most failures only after `start()` has returned.
"""

import contextlib
import io
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.attribution.settings import Settings
from examples.services import connector, java_home
from examples.services.scala import compiled

STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHECKPOINT_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
# The JVM leaves methods above 8,000 bytes of bytecode to its interpreter, and the decoder's generated code is one.
COMPILE_ALL = "-XX:-DontCompileHugeMethods"
# Without it every file of a checkpoint costs a process, and the pause between two batches is full of files.
LOCAL_FILES = Path(__file__).parents[1] / "services" / "local_files.scala"
LOG_SETTINGS = Path(__file__).parents[1] / "services" / "log4j2.properties"

CONFS = {
    # A partly filled shuffle buffer is sent after this many milliseconds. The default of 50 is the latency floor of
    # every stateful query; the value is read when the context starts.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
    # Halves the pause between two batches on a local disk. On HDFS or an object store leave it out and measure.
    "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_FILES,
    # Real-time mode needs these two and prefers the third. Micro-batch gets them as well: a checkpoint of its
    # defaults could never be continued in real-time mode.
    "spark.sql.streaming.stateStore.providerClass": STATE_STORE,
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Event times must not depend on the machine.
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": f"{COMPILE_ALL} -Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}",
    "spark.executor.extraJavaOptions": COMPILE_ALL,
}
"""Session settings, each with its reason; `build_session` adds what depends on the run."""

EXCHANGE = re.compile(r"^(?P<indent>[^A-Za-z]*)(?:\*\(\d+\) )?(?P<node>BroadcastExchange|Exchange) (?P<rest>.*)")
EXCHANGE_PARTITIONS = re.compile(r"^\w+\(.*?(\d+)\), [A-Z_]+(?:, \w+=\w+)*(?:, \[plan_id=\d+\])?$")
CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")


class QueryFailedError(RuntimeError):
    """A streaming query ended with an error, usually after `start()` had returned."""

    def __init__(self, query_name: str, condition: str | None, message: str) -> None:
        """Keep the query's name and the error condition, such as `CAST_INVALID_INPUT`."""
        super().__init__(f"query {query_name!r} failed with {condition or 'an error without condition'}: {message}")
        self.query_name = query_name
        self.condition = condition


class NotEnoughSlotsError(RuntimeError):
    """Queries need more task slots than are free, so that partitions would starve or the query would fail."""


class NotRealTimeError(AssertionError):
    """A query does not run in real-time mode."""


def build_session(settings: Settings, confs: Mapping[str, str] | None = None) -> SparkSession:
    """Start a session with `CONFS`, the Kafka connector and the slots of `settings`; `confs` are added last."""
    os.environ["JAVA_HOME"] = str(java_home())
    # Otherwise workers run whichever Python is first on the PATH.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    master = settings.master or f"local[{settings.slots}]"
    builder = SparkSession.builder.master(master).appName("ad-attribution")
    chosen = {
        **CONFS,
        "spark.jars": ",".join(str(jar) for jar in connector().jars),
        # The default of 200 needs 200 slots.
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        **({} if settings.master else _local_files()),
        **({"spark.driver.host": "127.0.0.1"} if "local" in master or "127.0.0.1" in master else {}),
        **(confs or {}),
    }
    for key, value in chosen.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _local_files() -> dict[str, str]:
    # The session's own class loader comes too late for a file system.
    return {
        "spark.hadoop.fs.file.impl": "examples.LocalFiles",
        "spark.driver.extraClassPath": str(compiled(LOCAL_FILES)),
    }


def preflight(spark: SparkSession, queries: Mapping[str, tuple[DataFrame, int]], wait_seconds: float = 30) -> int:
    """
    Check that all `queries` can run side by side, and return the slots that they need together.

    `queries` maps a name to the streaming DataFrame that will be started and its number of source partitions.
    Executors of a cluster get `wait_seconds` to register. Raises `NotEnoughSlotsError`.
    """
    needs = {name: slots_needed(stream, partitions) for name, (stream, partitions) in queries.items()}
    needed = sum(needs.values())
    is_local = _master(spark).startswith("local")
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: slots_free(spark) >= needed, 0 if is_local else wait_seconds, "executors")
    free = slots_free(spark)
    if free < needed:
        parts = ", ".join(f"{name} {need}" for name, need in needs.items())
        raise NotEnoughSlotsError(
            f"the queries need {needed} task slots at the same time ({parts}), but only {free} of "
            f"{slots_total(spark)} are free; a stateless query would starve some partitions for ever without an "
            f"error, a stateful one would fail with CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT; use "
            f"local[{needed + slots_total(spark) - free}] or more executor cores, fewer source partitions, or a "
            f"smaller spark.sql.shuffle.partitions"
        )
    return needed


def slots_needed(stream: DataFrame, source_partitions: int) -> int:
    """Return source partitions plus the partitions of every shuffle and repartition in the plan of `stream`."""
    return source_partitions + _exchange_partitions(_printed(stream.explain))


def slots_total(spark: SparkSession) -> int:
    """Return how many tasks can run at the same time."""
    local = re.fullmatch(r"local\[(\d+)(?:,\d+)?\]", _master(spark))
    cores = int(local[1]) if local else spark.sparkContext.defaultParallelism
    return cores // int(spark.conf.get("spark.task.cpus", "1") or 1)


def slots_free(spark: SparkSession) -> int:
    """Return the slots that neither a running task nor an active query of this session holds."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage_id) for stage_id in tracker.getActiveStageIds()]
    running = sum(stage.numActiveTasks for stage in stages if stage)
    # Between two batches a real-time query holds no task, but it will want its slots back at once.
    claimed = sum(_slots_of(query) for query in spark.streams.active)
    return slots_total(spark) - max(running, claimed)


def assert_real_time(query: StreamingQuery, deadline_seconds: float = 60) -> None:
    """Prove from its physical plan that `query` runs in real-time mode, or raise `NotRealTimeError`."""
    wait_until(lambda: "Scan" in _printed(query.explain), deadline_seconds, f"the plan of {query.name!r}", [query])
    if "RealTimeStreamScan" not in _printed(query.explain):
        raise NotRealTimeError(
            f"query {query.name!r} runs without RealTimeStreamScan in its plan, so its rows wait for micro-batches; "
            f'start it with .trigger(realTime="5 minutes") and outputMode("update")'
        )


def stop_completely(spark: SparkSession, *queries: StreamingQuery, deadline_seconds: float = 60) -> None:
    """
    Stop queries and return when their last task has ended.

    `stop()` alone may return a tenth of a second earlier, and what such a task still reads and writes comes again after
    a restart.
    """
    for query in queries:
        query.stop()
    wait_until(lambda: not any(_tasks(spark, query) for query in queries), deadline_seconds, "the end of all tasks")


def raise_if_failed(queries: Iterable[StreamingQuery]) -> None:
    """Raise `QueryFailedError` for the first of `queries` that has failed."""
    for query in queries:
        exception = query.exception()
        if exception is not None:
            text = str(exception)
            conditions = [name for name in CONDITION.findall(text) if name != "STREAM_FAILED"]
            message = text.split("\n\n", maxsplit=1)[0].split("JVM stacktrace", maxsplit=1)[0].strip()
            raise QueryFailedError(query.name, next(iter(conditions), None), message) from exception


def wait_until(
    is_true: Callable[[], object], deadline_seconds: float, what: str, queries: Iterable[StreamingQuery] = ()
) -> None:
    """Wait until `is_true()`; raise `QueryFailedError` if one of `queries` fails, `TimeoutError` after the deadline."""
    pause, end = threading.Event(), time.monotonic() + deadline_seconds
    while not is_true():
        raise_if_failed(queries)
        if time.monotonic() > end:
            raise TimeoutError(f"waited {deadline_seconds:g} s for {what}, and it did not come")
        pause.wait(0.05)


def _master(spark: SparkSession) -> str:
    return str(spark.sparkContext.master)


def _printed(show: Callable[[], object]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        show()
    return printed.getvalue()


def _exchange_partitions(plan: str) -> int:
    partitions, broadcast_indent = 0, None
    for line in plan.splitlines():
        indent = len(line) - len(line.lstrip(" :+-"))
        if broadcast_indent is not None and indent > broadcast_indent:
            continue  # the static side of a join runs before the stream
        exchange = EXCHANGE.match(line)
        broadcast_indent = indent if exchange and exchange["node"] == "BroadcastExchange" else None
        if exchange and exchange["node"] == "Exchange":
            count = EXCHANGE_PARTITIONS.match(exchange["rest"])
            partitions += int(count[1]) if count else 1  # Exchange SinglePartition
    return partitions


def _slots_of(query: StreamingQuery) -> int:
    progress = query.lastProgress
    if progress is None:
        return 0  # in its first batch: the tasks are running
    offsets = [json.loads(source.endOffset) for source in progress.sources if source.endOffset]
    return _exchange_partitions(_printed(query.explain)) + sum(map(_leaves, offsets))


def _leaves(tree: object) -> int:
    return sum(map(_leaves, tree.values())) if isinstance(tree, dict) else 1


def _tasks(spark: SparkSession, query: StreamingQuery) -> int:
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(str(query.runId))]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return sum(stage.numActiveTasks for stage in stages if stage)
