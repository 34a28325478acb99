"""PySpark readers and writers that record a job's calls and use the local broker of `rtm prove`."""

import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

from spark_rtm.kafka.topics import REJECT_TOPIC, ensure_topics
from spark_rtm.prove.job.placeholders import Anything, Started
from spark_rtm.prove.job.target import Job, subscribed
from spark_rtm.realtime import control
from spark_rtm.testing.trial import ANY_SIZE

BROKER_OPTION = "kafka.bootstrap.servers"
# The job's other security options remain, but a plaintext connection ignores them.
PLAINTEXT = {"kafka.security.protocol": "PLAINTEXT"}
# A query with a new checkpoint must see every record that `prove` sends.
FROM_START = {"startingOffsets": "earliest"}
# A job that sleeps more often on the same line is waiting in a loop.
MAX_SLEEPS = 3
FUNCTIONS = ("foreach", "foreachBatch")
"""Sinks that call one of the job's functions."""
REFUSED = {"maxoffsetspertrigger", "minoffsetspertrigger", "minpartitions", "maxtriggerdelay"}


@dataclass(frozen=True)
class Caught:
    """A query that the job starts."""

    frame: DataFrame
    sink: str
    """Sink format, for example `kafka`, `delta` or `foreachBatch`."""
    options: dict[str, str]
    trigger: str
    """The query's trigger, or an empty string for the default."""
    output_mode: str
    line: int
    writer: "StreamWriter"

    @property
    def names(self) -> set[str]:
        """The values of `--query` that select this query: its line and its name."""
        return {str(self.line), self.options.get("queryName", "")}

    @property
    def is_to_kafka(self) -> bool:
        """Whether the sink is Kafka."""
        return self.sink.lower() == "kafka"

    @property
    def rows(self) -> DataFrame:
        """The query's rows, as JSON if the sink is not Kafka."""
        return self.frame if self.is_to_kafka else self.frame.select(F.to_json(F.struct("*")).alias("value"))

    @property
    def is_real_time(self) -> bool:
        """Whether the job uses the `realTime` trigger."""
        return "realtime" in self.trigger.lower()


@dataclass
class Recording:
    """A record of the sources that a run of the job reads and the queries that it starts."""

    spark: SparkSession
    kafka: str
    job: Job
    partitions: int
    static: DataFrame | None = None
    """Static source rows that replace each of the job's streams."""
    on_static: "Recording | None" = None
    topics: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    other_sources: list[tuple[str, int]] = field(default_factory=list)
    """Formats of non-Kafka streams, with the job's line numbers."""
    caught: list[Caught] = field(default_factory=list)
    source_options: dict[str, str] = field(default_factory=dict)
    source_line: int = 0
    shuffles: str = ""
    """Number of shuffle partitions that the job would get on its cluster."""
    has_own_shuffles: bool = True
    sleeps: dict[tuple[str, int], int] = field(default_factory=dict)
    skipped: dict[tuple[str, int], None] = field(default_factory=dict)
    """Skipped writes, in order, with the job's line numbers."""
    may_call: bool = False
    """Whether JVM calls may write, because they write to the local broker."""
    missing: dict[str, int] = field(default_factory=dict)
    """Missing packages that placeholders replace, with the job's line numbers."""
    refused: dict[str, int] = field(default_factory=dict)
    """Kafka source options that real-time mode does not support, with the job's line numbers."""
    absent: dict[str, int] = field(default_factory=dict)
    """Missing tables that generated rows replace, with the job's line numbers."""

    @property
    def path(self) -> Path:
        """The path of the job's file."""
        return self.job.path

    def forget(self) -> None:
        """Discard all recorded facts about the job except its missing packages."""
        lists = (self.topics, self.tables, self.other_sources, self.caught)
        for noted in (*lists, self.source_options, self.skipped, self.absent, self.refused):
            noted.clear()

    def line(self) -> int:
        """Return the number of the job's line that is being executed, or 0 outside the job."""
        frame: FrameType | None = sys._getframe()  # noqa: SLF001 - `inspect.stack()` would read every source file
        while frame and frame.f_code.co_filename != str(self.path):
            frame = frame.f_back
        return frame.f_lineno if frame else 0

    def line_of(self, error: BaseException) -> int:
        """Return the line number of the innermost job frame in an error's traceback, or 0 without such a frame."""
        frame, line = error.__traceback__, 0
        while frame:
            line = frame.tb_lineno if frame.tb_frame.f_code.co_filename == str(self.path) else line
            frame = frame.tb_next
        return line

    def redirect(self, options: dict[str, str], *, is_stream: bool) -> dict[str, str]:
        """Create a Kafka source's topics, and return replacements for the job's options."""
        names, replaced = subscribed(options)
        ensure_topics(self.kafka, names, self.partitions, dict.fromkeys(names, ANY_SIZE))
        if is_stream:
            self.source_options.update(options)
            self.source_line = self.line()
        found = self.topics if is_stream else self.tables
        found += [name for name in names if name not in found]
        return {BROKER_OPTION: self.kafka, **PLAINTEXT, **replaced, **(FROM_START if is_stream else {})}

    def redirect_write(self, options: dict[str, str]) -> dict[str, str]:
        """Create a batch write's topic, and return replacements for the job's options."""
        names = [options["topic"]] if "topic" in options else []
        ensure_topics(self.kafka, names, self.partitions, dict.fromkeys(names, REJECT_TOPIC))
        return {BROKER_OPTION: self.kafka, **PLAINTEXT}

    def may_write(self, target: str) -> bool:
        """Return whether one of the job's batch writes may run. Otherwise, record the write as skipped."""
        if not self.job.side_effects:
            self.note_write(target)
        return self.job.side_effects

    def note_write(self, target: str) -> None:
        """Record a skipped write."""
        self.skipped[target, self.line()] = None


class Options:
    """A mixin that records a reader's or writer's options by name."""

    recording: Recording
    noted: dict[str, str]

    def __init__(self, owner: Any) -> None:
        self.noted = {}
        super().__init__(owner)  # type: ignore[call-arg]

    def format(self, source: str) -> Any:
        """Record the format."""
        self.noted["format"] = source
        return super().format(source)  # type: ignore[misc]

    def option(self, key: str, value: Any) -> Any:
        """Record the option."""
        if value is None and key in {"subscribe", "topic"}:
            raise ValueError(f"the option {key!r} is None, so no topic is named; set the value that the job reads")
        self.noted[key] = str(value)
        return super().option(key, value)  # type: ignore[misc]

    def options(self, **options: Any) -> Any:
        """Record the options."""
        for key, value in options.items():
            self.option(key, value)
        return self

    def redirect(self, options: dict[str, Any], *, is_stream: bool) -> None:
        """Read from the local broker instead of the job's broker."""
        self.options(**options)
        self.options(**self.recording.redirect(self.noted, is_stream=is_stream))


class StreamReader(Options, DataStreamReader):
    """A replacement for `spark.readStream`."""

    def option(self, key: str, value: Any) -> Any:
        """Record an option, and drop options that real-time mode does not support."""
        if key.lower() not in REFUSED:
            return super().option(key, value)
        self.recording.refused[key] = self.recording.line()
        return self

    def load(self, path: str | None = None, format: str | None = None, schema: Any = None, **options: Any) -> DataFrame:
        """Return a stream of a local topic, or the recording's static rows."""
        kind = (format or self.noted.get("format", "parquet")).lower()
        if kind not in {"kafka", control.SOURCE}:
            self.recording.other_sources.append((kind, self.recording.line()))
            return super().load(path, format, schema, **options)
        self.redirect(options, is_stream=True)
        if self.recording.static is not None:
            first = self.noted.get("subscribe", "").replace(" ", "").partition(",")[0]
            return self.recording.static.withColumn("topic", F.lit(first))
        return super().load(format=control.source_format())

    def table(self, tableName: str) -> DataFrame:
        """Record a table as another source."""
        self.recording.other_sources.append((f"table {tableName}", self.recording.line()))
        return super().table(tableName)


class StreamWriter(Options, DataStreamWriter):
    """A replacement for `DataFrame.writeStream`. For a static DataFrame, it accepts every call."""

    def __init__(self, frame: DataFrame) -> None:
        self.frame, self.noted, self.chosen = frame, dict[str, str](), dict[str, Any]()
        self.function: Any = None
        if frame._jdf.isStreaming():  # noqa: SLF001 - a job on static rows gets a different result
            DataStreamWriter.__init__(self, frame)
        else:
            self._df, self._spark, self._jwrite = frame, frame.sparkSession, Anything()

    def trigger(self, **chosen: Any) -> Any:
        """Record the trigger."""
        self.chosen = chosen
        return super().trigger(**chosen)

    def queryName(self, queryName: str) -> Any:
        """Record the name."""
        self.noted["queryName"] = queryName
        return super().queryName(queryName)

    def outputMode(self, outputMode: str) -> Any:
        """Record the output mode."""
        self.noted["outputMode"] = outputMode
        return super().outputMode(outputMode)

    def foreach(self, f: Any) -> Any:
        """Record the sink."""
        self.noted["format"], self.function = "foreach", f
        return super().foreach(f)

    def foreachBatch(self, func: Any) -> Any:
        """Record the sink."""
        self.noted["format"], self.function = "foreachBatch", func
        return self if isinstance(self._jwrite, Anything) else super().foreachBatch(func)

    def start(  # type: ignore[override]
        self, path: str | None = None, format: str | None = None, outputMode: str | None = None, **options: Any
    ) -> Any:
        """Record the query instead of starting it."""
        self.options(**({"path": path} if path else {}), **options)
        mode = outputMode or self.noted.get("outputMode", "append")
        sink = format or self.noted.get("format", "parquet")
        line = self.recording.line() or self.recording.job.line
        # A job may start several queries with the same writer.
        options = dict(self.noted)
        self.recording.caught.append(Caught(self.frame, sink, options, self._trigger(), mode, line, self))
        return Started()

    def toTable(self, tableName: str, **_options: Any) -> Any:  # type: ignore[override]
        """Record the query instead of starting it."""
        self.noted["format"] = f"table {tableName}"
        return self.start()

    def _trigger(self) -> str:
        """Return the job's trigger, or the JVM's trigger if the job did not use PySpark's method."""
        if self.chosen:
            return ", ".join(f"{name}={value!r}" for name, value in self.chosen.items())
        field = self._jwrite.getClass().getDeclaredField("trigger")
        field.setAccessible(True)
        return str(field.get(self._jwrite).toString()).removeprefix("ProcessingTimeTrigger(0)")

    def really_start(self, checkpoint: str) -> StreamingQuery:
        """Start the job's query in real-time mode."""
        DataStreamWriter.option(self, "checkpointLocation", checkpoint)
        DataStreamWriter.outputMode(self, "update")
        DataStreamWriter.trigger(self, realTime="5 seconds")  # type: ignore[call-overload]
        if not self.recording.job.side_effects:
            # The engine checks only the sink's type, so the user's store is not needed.
            DataStreamWriter.option(self, "path", f"{checkpoint}-sink")
        sink = self.noted.get("format", "")
        if sink == "foreach" and not self.recording.job.side_effects:
            DataStreamWriter.foreach(self, lambda _row: None)
        if sink.startswith("table "):
            name = sink[6:] if self.recording.job.side_effects else f"prove_{uuid.uuid4().hex[:8]}"
            return DataStreamWriter.toTable(self, name)
        return DataStreamWriter.start(self)


def recorder(kind: type[Options], recording: Recording) -> property:
    """Return a PySpark property that creates a recording reader or writer."""
    return property(type(kind.__name__, (kind,), {"recording": recording}))
