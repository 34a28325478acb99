"""
Record when a query passes the steps of a batch boundary, from Spark's log lines.

Only the loggers of these lines are on, because each line costs the query time.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.spark.queries import SparkOptions
from benchmarks.spark.variants import JAVA_OPTIONS_CONF

READING_ENDED, TASK_FINISHED, JOB_FINISHED = "reading ended", "task finished", "job finished"
COMMITTED, TRIGGERED, JOB_STARTED = "commit log written", "next batch triggered", "job started"
PLANNED = "query planned"
TASK_LAUNCHED, READER_CREATED, FIRST_RECORD = "task launched", "reader created", "first record read"
STATE_LOADING, STATE_LOADED, CONNECTED = "state loading", "state loaded", "shuffle connected"
STEPS = {
    READING_ENDED: ("sql.kafka010.consumer.KafkaDataConsumer", r"From Kafka topicPartition=\S+ .* read \d+ records"),
    TASK_FINISHED: ("executor.Executor", r"Finished task \S+ in stage (?P<stage>\d+)\."),
    JOB_FINISHED: ("scheduler.DAGScheduler", r"Job \d+ finished: "),
    COMMITTED: ("sql.execution.streaming.runtime.MicroBatchExecution", r"Committed offsets for batch (?P<batch>\d+)\."),
    TRIGGERED: ("sql.execution.streaming.runtime.MicroBatchExecution", r"Delay offset logging for batch \d+ "),
    PLANNED: ("sql.execution.streaming.runtime.MicroBatchExecutionContext", r"queryPlanning took \d+ ms"),
    JOB_STARTED: ("SparkContext", r"Starting job: "),
    TASK_LAUNCHED: ("scheduler.TaskSetManager", r".*Starting task \S+ in stage (?P<stage>\d+)\."),
    READER_CREATED: (
        "sql.execution.datasources.v2.LowLatencyReaderFactoryWrap",
        r"Creating low latency PartitionReader, stopping at (?P<deadline>\d+)",
    ),
    FIRST_RECORD: ("sql.kafka010.KafkaBatchPartitionReader", r"Kafka source record timestamp type is "),
    STATE_LOADING: ("sql.execution.streaming.state.RocksDB", r".*\] Loading \d+ with stateStoreCkptId"),
    STATE_LOADED: ("sql.execution.streaming.state.RocksDB", r".*\] Loaded \d+ with uniqueId"),
    CONNECTED: ("shuffle.streaming.StreamingShuffleReader", r".*Created shuffle client to shuffle writer "),
}
"""The steps: the logging class without `org.apache.spark.`, and the start of its log line."""
DEBUGGED = {STEPS[PLANNED][0]}
"""Classes that log their steps at level `debug`."""
ROCKSDB = STEPS[STATE_LOADED][0]
"""Class that adds the store's id to its logger's name, so the logger of its package is on instead."""
LOG_SETTINGS = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex{{5}}
appender.trace.type = File
appender.trace.name = trace
appender.trace.fileName = {path}
appender.trace.layout.type = PatternLayout
appender.trace.layout.pattern = %d{{UNIX_MILLIS}} %c{{1}} %m%n
"""
LOGGER = """\
logger.{name}.name = org.apache.spark.{logger}
logger.{name}.level = {level}
logger.{name}.additivity = false
logger.{name}.appenderRef.trace.ref = trace
"""
LINE = re.compile(r"(?P<at>\d{13}) (?P<logger>\w+) (?P<message>.*)")
LOG_OPTION = re.compile(r"-Dlog4j2\.configurationFile=\S+")
PATTERNS = {step: (logger.rpartition(".")[2], re.compile(pattern)) for step, (logger, pattern) in STEPS.items()}


@dataclass(frozen=True)
class Mark:
    """A step at one time. Each task that passes it has its own mark."""

    at_ms: int
    """Milliseconds since 1970."""
    step: str
    stage: int = -1
    """Stage of a task, or -1."""
    deadline_ms: int = 0
    """End of reading for the task, or 0."""
    batch: int = -1
    """The batch that the step ends, or -1."""


def with_trace(options: SparkOptions, folder: Path) -> SparkOptions:
    """Return options that make Spark log its steps to `trace.log` in `folder`."""
    settings = folder / "log4j2.properties"
    loggers = [
        LOGGER.format(
            name=f"step{number}",
            logger=name.rpartition(".")[0] if name == ROCKSDB else name,
            level="debug" if name in DEBUGGED else "info",
        )
        for number, name in enumerate(dict.fromkeys(logger for logger, _ in STEPS.values()))
    ]
    settings.write_text("".join([LOG_SETTINGS.format(path=trace_file(folder)), *loggers]))
    java_options, replaced = LOG_OPTION.subn(
        f"-Dlog4j2.configurationFile={settings.as_uri()}", options.confs[JAVA_OPTIONS_CONF]
    )
    if not replaced:
        raise ValueError(
            f"{JAVA_OPTIONS_CONF} = {java_options!r} does not set log4j2.configurationFile, so there is nothing to "
            "replace"
        )
    return replace(options, confs={**options.confs, JAVA_OPTIONS_CONF: java_options})


def trace_file(folder: Path) -> Path:
    """Return the path of the log with Spark's steps."""
    return folder / "trace.log"


def marks(lines: Iterable[str]) -> list[Mark]:
    """Return the steps in log lines, sorted by time."""
    return sorted(_marks(lines), key=lambda mark: mark.at_ms)


def _marks(lines: Iterable[str]) -> Iterator[Mark]:
    for line in lines:
        if not (parsed := LINE.match(line)):
            continue
        for step, (logger, pattern) in PATTERNS.items():
            if logger == parsed["logger"] and (found := pattern.match(parsed["message"])):
                named = {name: int(value) for name, value in found.groupdict().items()}
                stage, batch = named.get("stage", -1), named.get("batch", -1)
                yield Mark(int(parsed["at"]), step, stage, named.get("deadline", 0), batch)
