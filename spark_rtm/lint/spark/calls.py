"""Evaluate PySpark method calls, and collect the queries, triggers and settings that the calls define."""

import ast
import re
from dataclasses import replace

from spark_rtm.lint.spark import values as v
from spark_rtm.lint.spark.columns import CLOCK_TEXT, LATENCY_NAME, expression_name, frame_of, text_marks
from spark_rtm.lint.spark.module import Module
from spark_rtm.lint.spark.scope import State
from spark_rtm.lint.spark.steps import AGGREGATES, JOINS, OPERATORS, UNIONS
from spark_rtm.lint.spark.streams import (
    TRIGGER_KEYWORDS,
    Arguments,
    Deletion,
    Frame,
    Query,
    Setting,
    Source,
    Step,
    Trigger,
    Writer,
    options_of,
)

FORMATS = {"parquet", "json", "csv", "orc", "text", "table", "jdbc", "avro", "xml"}
BROADCAST_HINTS = {"broadcast", "broadcastjoin", "mapjoin"}
WRITER_METHODS = {"format", "outputMode", "option", "options", "trigger", "queryName", "foreach", "foreachBatch",
                  "partitionBy", "clusterBy", "start", "toTable"}  # fmt: skip
CERTAIN_WRITER_METHODS = {"writeStream", "outputMode", "queryName", "start", "toTable", "foreachBatch"}
WRITER_NAME = re.compile(
    r"writ|stream|quer|sink|frame|dsw|output|event|base|config|builder|_fragment|^(?:w|q|s|df|ds|out|rows|result)\d*$|_df$",
    re.IGNORECASE,
)
SPARK_ORIGIN = re.compile(r"^pyspark|writer|stream|query|spark", re.IGNORECASE)
SET_STATEMENT = re.compile(r"\s*SET\s+(spark\.[\w.]+)\s*=\s*(\S+)", re.IGNORECASE)
CALLED = re.compile(r"\b(\w++)\s*+\(")
KEYWORDS = {name.lower() for name in TRIGGER_KEYWORDS}
DELETING = {"rm", "delete", "deleteDirectory", "deleteQuietly", "deleteRecursively", "forceDelete"}
"""Methods in `dbutils.fs`, Hadoop file systems and Apache Commons that delete a folder."""
MAX_STAMPS = 20
WORD = re.compile(r"\w++")
DIFFERENCE = re.compile(r"[\w)]\s*-\s*[\w(]|diff\s*\(", re.IGNORECASE)
STATIC_READS = {"createDataFrame", "range", "table"}


class SparkCalls:
    """An evaluator for PySpark method calls that collects queries, triggers and settings."""

    def __init__(self) -> None:
        self.module = Module()
        self.statement: ast.stmt | None = None
        self.registered: set[str] = set()
        self.is_ordered = True
        """Whether the program runs the code in the same order in which the interpreter follows it."""
        self.stamps: set[str] = set()
        """Names of columns that contain the current time."""
        self.views: dict[str, Frame] = {}
        self.writers: dict[Writer, bool] = {}
        self.sinks: dict[str, tuple[v.Value, int]] = {}
        """The format of each pipeline sink, by sink name."""
        self.receiver = ""
        """The name of the called method's receiver, if the receiver has a name."""

    def method(self, value: v.Value, name: str, given: Arguments, line: int, state: State) -> v.Value:
        """Return the result of a method call."""
        given = self._recorded(name, given, line, state)
        if isinstance(value, Source | Writer):
            follow = self._source_method if isinstance(value, Source) else self._writer_method
            return follow(value, name, given, line, state)  # type: ignore[arg-type]  # each method handles one type of value
        if isinstance(value, v.Session):
            return self._session_method(name, given)
        if isinstance(value, v.Const) and name in {"alias", "cast"}:
            value = v.Column(name=v.text_of(value))  # `$"name"` in Scala
        if isinstance(value, v.Column):
            return self._column_method(value, name, given, line)
        if isinstance(value, Frame) or (isinstance(value, v.Unknown) and name in OPERATORS and not value.origin):
            return self._frame_method(frame_of(value), name, given, line)
        if isinstance(value, v.Unknown) and name in WRITER_METHODS:
            return self._unknown_writer_method(value, name, given, line, state)
        marks = v.marks_of(*given.positional)
        return v.Column(marks) if marks else v.Unknown(value.origin if isinstance(value, v.Unknown) else "")

    def _recorded(self, name: str, given: Arguments, line: int, state: State) -> Arguments:
        """Record the effects that any method with this name has, and return the arguments."""
        self._record_settings(name, given, line, state)
        first = given.get("", 0)
        if name in DELETING and first is not None:
            self.add_deletion(first, line, state)
        # A JVM method created this trigger.
        return Arguments(keywords=first.items) if name == "trigger" and isinstance(first, v.Table) else given

    def _unknown_writer_method(self, value: v.Unknown, name: str, given: Arguments, line: int, state: State) -> v.Value:
        if name == "trigger" and _asks_for_real_time(given, value.origin) and self._is_writer():
            fragment = Writer(frame_of(value), is_open=True, lines=frozenset({line}), is_guess=True)
            return self._writer_method(fragment, name, given, line, state)
        return value  # probably a fluent interface, whose methods return the object

    def _is_writer(self) -> bool:
        """Return whether the receiver of `trigger` may be a writer, judging by its name or the statement's calls."""
        if not self.receiver or self.statement is None or WRITER_NAME.search(self.receiver):
            return True
        attributes = {node.attr for node in ast.walk(self.statement) if isinstance(node, ast.Attribute)}
        return not attributes.isdisjoint(CERTAIN_WRITER_METHODS)

    def add_deletion(self, path: v.Value, line: int, state: State) -> None:
        """Record a call that deletes a folder."""
        self.module.deletions.append(Deletion(path, line, len(self.module.queries), tuple(state.decided)))

    def end_deletions(self) -> None:
        """Relate deletions only to the queries found so far, because the next function may run separately."""
        for each in self.module.deletions:
            each.end = len(self.module.queries) if each.end is None else each.end

    def finish(self) -> None:
        """Add a query for each writer that the module does not start."""
        for writer, is_used in self.writers.items():
            if not is_used:
                self.module.queries.append(Query(writer))

    def _record_settings(self, name: str, given: Arguments, line: int, state: State) -> None:
        path, order = dict(state.decided), len(self.module.queries) if self.is_ordered else 0
        key = v.text_of(given.get("key", 0))
        if name in {"set", "config", "setConf"} and key is not None and key.startswith("spark."):
            self.module.settings.append(Setting(key, given.get("value", 1) or v.Unknown(), line, path, order))
        if name == "sql" and (match := SET_STATEMENT.match(v.text_of(given.get("sqlQuery", 0)) or "")):
            self.module.settings.append(Setting(match[1], v.Const(match[2].strip(";")), line, path, order))
        several = v.entries_of(given.get("map", 0), line) if name in {"config", "setAll"} else {}
        self.module.settings += [Setting(text, value, at, path, order) for text, (value, at) in several.items()]

    def _session_method(self, name: str, given: Arguments) -> v.Value:
        view = self.views.get(v.text_of(given.get("tableName", 0)) or "")
        if name == "Path" and given.positional:
            return given.positional[0]  # Hadoop's `Path` through the session's JVM gateway
        if name == "table" and view:
            return view
        if name in STATIC_READS:
            return Frame(frozenset({v.Unknown()}), is_streaming=False, is_small=name == "range")
        if name == "register" and given.positional:
            self.registered.update(v.texts_of(given.positional[0]))
            return v.Udf()
        if name == "sql":
            return v.Unknown()
        return v.Session()

    def _column_method(self, value: v.Column, name: str, given: Arguments, line: int) -> v.Column:
        marks = value.marks | v.marks_of(*given.positional)
        if name not in {"alias", "name"}:
            return v.Column(marks, value.name if name in {"cast", "astype", "try_cast"} else f"{name}()")
        texts = v.texts_of(given.get("alias", 0))
        marks |= _latency_mark(marks, texts, line)
        return v.Column(marks, texts[0] if len(texts) == 1 and len(given.positional) == 1 else None)

    def _source_method(self, source: Source, name: str, given: Arguments, line: int, state: State) -> v.Value:
        if name == "format":
            changed = replace(source, format=given.get("source", 0) or v.Unknown(), line=line)
        elif name in {"option", "options"}:
            changed = replace(source, options={**source.options, **options_of(name, given, line)})
        elif name == "load" or name in FORMATS:
            form = v.Const(name) if name != "load" else given.get("format") or source.format
            at = source.line if name == "load" and source.format is not None else line
            options = source.options | options_of("options", given, line)
            loaded = replace(source, format=form, line=at, options=options)
            return Frame(frozenset({loaded}), is_streaming=source.is_streaming)
        else:
            changed = source
        state.replace_everywhere(source, changed)
        return changed

    def _frame_method(self, frame: Frame, name: str, given: Arguments, line: int) -> v.Value:
        if name == "agg" or (frame.is_grouped and name in AGGREGATES):
            name = "aggregate"
        elif name not in OPERATORS:
            if name.endswith("TempView"):
                self.views.update(dict.fromkeys(v.texts_of(given.get("name", 0)), frame))
            return v.Unknown()
        if name == "hint" and any(text.lower() in BROADCAST_HINTS for text in v.texts_of(given.get("name", 0))):
            return replace(frame, is_broadcast=True)
        others = [frame_of(each) for each in given.positional[:1] if isinstance(each, Frame | v.Unknown)]
        other = others[0] if others and name in JOINS | UNIONS else None
        step = Step(name, line, frame, given, self._step_marks(name, given, line), other)
        combined = _combined(frame, other, step)
        is_grouped = name in {"groupBy", "groupby", "cube", "rollup"}
        return replace(combined, is_grouped=is_grouped, is_broadcast=frame.is_broadcast and other is None)

    def _step_marks(self, name: str, given: Arguments, line: int) -> frozenset[v.Mark]:
        values = given.values()
        marks = v.marks_of(*values)
        if name in {"selectExpr", "where", "filter"}:
            marks |= text_marks(values, line)
        texts = [text for value in values for text in v.texts_of(value)]
        if self.registered and not self.registered.isdisjoint(n for text in texts for n in CALLED.findall(text)):
            marks |= {v.Mark("udf", line)}
        named = v.texts_of(given.get("colName", 0)) if name == "withColumn" else []
        marks |= self.stamp_marks(texts, line) if name == "selectExpr" else frozenset()
        self._record_stamps(named, given, texts if name == "selectExpr" else [])
        return marks | _latency_mark(marks, named, line)

    def _record_stamps(self, names: list[str], given: Arguments, expressions: list[str]) -> None:
        columns = dict.fromkeys(names, given.get("col", 1))
        columns |= {value.name: value for value in given.positional if isinstance(value, v.Column) and value.name}
        for name, value in columns.items():
            is_stamp = {mark.kind for mark in v.marks_of(value)} & {"clock", "clock-difference"} == {"clock"}
            (self.stamps.add if is_stamp and len(self.stamps) < MAX_STAMPS else self.stamps.discard)(name)
        stamps = [text for text in expressions if CLOCK_TEXT.search(text) and "-" not in text]
        self.stamps.update({expression_name(text) for text in stamps[:MAX_STAMPS]} - {""})

    def stamp_marks(self, texts: list[str], line: int, *, is_difference: bool = False) -> frozenset[v.Mark]:
        """Return the marks for expressions that use a column with the current time."""
        used = [text for text in texts if not self.stamps.isdisjoint(WORD.findall(text))] if self.stamps else []
        if not used:
            return frozenset()
        is_difference |= any(DIFFERENCE.search(text) for text in used)
        return frozenset({v.Mark("clock", line), *([v.Mark("clock-difference", line)] if is_difference else [])})

    def _writer_method(self, writer: Writer, name: str, given: Arguments, line: int, state: State) -> v.Value:
        lines = writer.lines | {self.statement.lineno if self.statement else line, line}
        changed = writer.after(name, given, line, lines)
        self.writers[writer] = True
        if name == "trigger" and changed.trigger:
            self.module.triggers.append(changed.trigger)
        if name in {"start", "toTable"}:
            self.writers[changed] = True
            self.module.queries.append(Query(changed, line, dict(state.decided), len(self.module.queries)))
            return v.Unknown("a query")
        self.writers[changed] = False
        state.replace_everywhere(writer, changed)
        return changed

    def display(self, given: Arguments, line: int) -> None:
        """Record a notebook's `display` call with a real-time trigger as a query."""
        trigger = Trigger(given, line)
        if trigger.is_real_time and given.positional:
            form, mode = (v.Const("display"), line), given.keywords.get("outputMode")
            self._add_query(Writer(frame_of(given.positional[0]), form, mode, trigger=trigger), line)

    def _add_query(self, writer: Writer, line: int) -> None:
        writer = replace(writer, is_open=True, lines=frozenset({line}))
        self.module.triggers += [writer.trigger] if writer.trigger else []
        self.module.queries.append(Query(writer, line))

    @staticmethod
    def is_real_time_flow(given: Arguments) -> bool:
        """Return whether a pipeline flow's decorator sets the real-time trigger."""
        value, _ = v.entries_of(given.get("spark_conf"), 0).get("pipelines.trigger", (None, 0))
        return v.text_of(value) == "RealTime"

    def add_sink(self, given: Arguments, line: int) -> None:
        """Record a pipeline sink, which flows can target."""
        for name in v.texts_of(given.get("name", 0)):
            self.sinks[name] = (given.get("format", 1) or v.Unknown(), line)

    def flow(self, result: v.Value, given: Arguments, line: int) -> None:
        """Record a pipeline flow as a query."""
        entries = v.entries_of(given.get("spark_conf"), line)
        interval, _ = entries.get("pipelines.trigger.interval", (v.Const("5 minutes"), line))
        trigger = Trigger(Arguments(keywords={"realTime": (interval, line)}), line)
        form = self.sinks.get(v.text_of(given.get("target", 0)) or "", (v.Const("flow"), line))
        for each in v.alternatives(result):
            self._add_query(Writer(frame_of(each), form, (v.Const("update"), line), trigger=trigger), line)


def _latency_mark(marks: frozenset[v.Mark], names: list[str], line: int) -> frozenset[v.Mark]:
    """Return a mark if a column that depends on the current time has a name such as `latency`."""
    is_latency = any(map(LATENCY_NAME.search, names)) and any(mark.kind == "clock" for mark in marks)
    return frozenset({v.Mark("clock-difference", line)} if is_latency else ())


def _asks_for_real_time(given: Arguments, origin: str) -> bool:
    if origin and not SPARK_ORIGIN.search(origin):
        return False  # another library's trigger
    names = {name.replace("_", "").lower() for name in given.keywords}
    return "realtime" in names and names <= KEYWORDS


def _combined(frame: Frame, other: Frame | None, step: Step) -> Frame:
    if other is None:
        return replace(frame, steps=(*frame.steps, step), is_small=False)
    if step.name in JOINS and frame.is_streaming is False and other.is_streaming:
        return replace(other, steps=(*other.steps, step))
    if step.name in JOINS and not other.is_streaming:
        return replace(frame, steps=(*frame.steps, step))
    known = set(frame.steps)
    steps = (*frame.steps, *[each for each in other.steps if each not in known], step)
    is_streaming = True if frame.is_streaming or other.is_streaming else frame.is_streaming
    return Frame(frame.sources | other.sources, steps, is_streaming)
