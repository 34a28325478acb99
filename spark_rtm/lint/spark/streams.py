"""Represent PySpark readers, DataFrames, writers and queries as values, with the line number of each setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from spark_rtm.lint.spark import values as v
from spark_rtm.lint.spark.values import under

NONE = v.Const(None)
KAFKA_SOURCES = ("kafka", "rtm-kafka")  # `rtm-kafka` is the source from `spark_rtm.realtime.control`
PARTIAL = "functools.partial"
MAX_ORDER = 1_000_000
UNKNOWN_KEY = "\0"
START_PARAMETERS = {"path", "partitionBy", "queryName", "tableName"}
"""Arguments of `start` and `toTable` that are not options."""
TRIGGER_KEYWORDS = ("processingTime", "once", "continuous", "availableNow", "realTime")


@dataclass(frozen=True, eq=False)
class Source(v.Value):
    """The settings of `spark.readStream` or `spark.read`. Each load call creates a separate source."""

    is_streaming: bool
    format: v.Value | None = None
    line: int = 0
    """Line number of the call that sets the format."""
    options: v.Entries = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The format's name in lower case, or an empty string if unknown."""
        return (v.as_text(self.format) or "").lower()

    @property
    def is_kafka(self) -> bool:
        """Whether the source has Kafka's columns and options."""
        return self.name in KAFKA_SOURCES


@dataclass(frozen=True, eq=False)
class Step:
    """An operator in a stream. `other` is the right side of a join or union."""

    name: str
    line: int
    left: Frame
    arguments: Arguments
    marks: frozenset[v.Mark] = frozenset()
    other: Frame | None = None


@dataclass(frozen=True, eq=False)
class Frame(v.Value):
    """A DataFrame: its sources, its operators in order, and whether it is a stream (None if unknown)."""

    sources: frozenset[Source | v.Unknown] = frozenset()
    steps: tuple[Step, ...] = ()
    is_streaming: bool | None = None
    is_broadcast: bool = False
    is_grouped: bool = False
    is_small: bool = False


@dataclass(frozen=True, eq=False)
class Arguments:
    """The arguments of a call. If `is_open`, the call may have additional, unknown arguments."""

    positional: tuple[v.Value, ...] = ()
    keywords: v.Entries = field(default_factory=dict)
    is_open: bool = False

    def values(self) -> list[v.Value]:
        """Return the positional and keyword arguments."""
        return [*self.positional, *[value for value, _ in self.keywords.values()]]

    def under(self, path: Mapping[str, bool]) -> Arguments:
        """Return the arguments that are possible on a path."""
        keywords = {name: (under(value, path), line) for name, (value, line) in self.keywords.items()}
        return Arguments(tuple(under(value, path) for value in self.positional), keywords, self.is_open)

    def get(self, name: str, position: int | None = None) -> v.Value | None:
        """Return the argument with this name or at this position, or None."""
        if name in self.keywords:
            return self.keywords[name][0]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None


@dataclass(frozen=True, eq=False)
class Partial(v.Value):
    """A function or method whose first arguments are already set."""

    callee: v.Value
    method: str
    given: Arguments


def without_first(given: Arguments) -> Arguments:
    """Return the arguments without the first positional argument."""
    return Arguments(given.positional[1:], given.keywords, given.is_open)


@dataclass(frozen=True, eq=False)
class Trigger:
    """A call to `trigger`."""

    arguments: Arguments
    line: int
    lines: frozenset[int] = frozenset()
    """The line numbers of earlier calls on the same writer."""
    is_guess: bool = False
    """Whether only method names suggest that this is a Spark trigger."""

    @cached_property
    def is_real_time(self) -> bool:
        """Whether the call sets `realTime` and no other trigger keyword."""
        others = [name for name in self.kinds if name != "realTime"]
        return self.value("realTime") is not None and not others

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The trigger keywords with a value other than None."""
        return tuple(
            name for name in self.arguments.keywords if name in TRIGGER_KEYWORDS and self.value(name) is not None
        )

    def value(self, name: str) -> v.Value | None:
        """Return a keyword's value, or None if the keyword is absent or None."""
        value = self.arguments.get(name)
        return None if value == NONE else value

    def line_of(self, name: str) -> int:
        """Return a keyword's line number, or the call's line number if the keyword is absent."""
        return self.arguments.keywords[name][1] if name in self.arguments.keywords else self.line


@dataclass(frozen=True, eq=False)
class Writer(v.Value):
    """The settings of `stream.writeStream`. If `is_open`, the writer may have additional, unknown settings."""

    frame: Frame
    format: tuple[v.Value, int] | None = None
    mode: tuple[v.Value, int] | None = None
    options: v.Entries = field(default_factory=dict)
    is_open: bool = False
    trigger: Trigger | None = None
    sinks: tuple[tuple[str, int], ...] = ()
    lines: frozenset[int] = frozenset()
    line: int | None = None
    """The line number of `writeStream`."""
    is_guess: bool = False
    """Whether only method names suggest that this is a Spark writer."""

    @property
    def sink(self) -> str:
        """The format's name in lower case, or an empty string if unknown."""
        return (v.as_text(self.format[0]) or "").lower() if self.format else ""

    @property
    def is_kafka(self) -> bool:
        """Whether the writer writes to the Kafka sink."""
        return self.sink == "kafka" and not self.sinks

    def extends(self, other: v.Value) -> bool:
        """Return whether this writer equals `other` after additional calls that replace no settings."""
        if not isinstance(other, Writer) or not other.lines <= self.lines:
            return False
        pairs = [(other.trigger, self.trigger), (other.mode, self.mode), (other.format, self.format)]
        return all(before is None or before == after for before, after in pairs)

    def after(self, name: str, given: Arguments, line: int, lines: frozenset[int]) -> Writer:
        """Return the writer after a call to method `name`. `lines` are the line numbers of all calls so far."""
        changes: dict[str, Any] = {"lines": lines}
        if name == "trigger":
            changes["trigger"] = Trigger(given, line, self.lines, self.is_guess)
        elif name in {"foreach", "foreachBatch"}:
            changes["sinks"] = (*self.sinks, (name, line))
        elif name == "format":
            changes["format"] = (given.get("source", 0) or v.Unknown(), line)
        elif name == "outputMode":
            changes["mode"] = (given.get("outputMode", 0) or v.Unknown(), line)
        elif name in {"option", "options"}:
            added = options_of(name, given, line)
            changes["options"] = options = {**self.options, **added}
            # An empty dictionary would be useless, so code outside this module probably fills it.
            changes["is_open"] = self.is_open or given.is_open or UNKNOWN_KEY in options or not added
        elif name in {"start", "toTable"}:
            changes |= self._started(name, given, line)
        return replace(self, **changes)

    def _started(self, name: str, given: Arguments, line: int) -> dict[str, Any]:
        rest = {key: entry for key, entry in given.keywords.items() if key not in START_PARAMETERS}
        changes: dict[str, Any] = {"is_open": self.is_open or given.is_open}
        changes["format"], changes["mode"] = rest.pop("format", self.format), rest.pop("outputMode", self.mode)
        options = {key.lower(): entry for key, entry in rest.items()}
        if name == "toTable":
            changes["format"] = changes["format"] or (v.Const("table"), line)
            changes["sinks"] = (*self.sinks, ("toTable", line))
        elif (path := given.get("path", 0)) is not None:
            options["path"] = (path, line)
        return changes | {"options": {**self.options, **options}}


def options_of(name: str, given: Arguments, line: int) -> v.Entries:
    """Return the options that an `option` or `options` call sets, with lower-case names."""
    if name == "options":
        options = {key.lower(): entry for key, entry in given.keywords.items()}
        return options | ({UNKNOWN_KEY: (v.Unknown(), line)} if given.is_open else {})
    keys, value = given.get("key", 0), given.get("value", 1) or v.Unknown()
    known = {text.lower(): (value, line) for text in v.texts_of(keys)}
    return known if known and len(v.alternatives(keys)) == 1 else {UNKNOWN_KEY: (v.Unknown(), line)} | known


def exactly_once(frame: Frame, given: Arguments, line: int) -> Writer:
    """Return the writer of `to_kafka` in `spark_rtm.realtime.exactly_once`, which has the options of the Kafka sink."""
    options = {key.lower(): entry for key, entry in v.entries_of(given.get("options"), line).items()}
    named = {"checkpointlocation": given.keywords.get("checkpoint"), "topic": given.keywords.get("topic")}
    options |= {key: entry for key, entry in named.items() if entry}
    return Writer(frame, (v.Const("kafka"), line), None, options, given.is_open, lines=frozenset({line}), line=line)


@dataclass(frozen=True, eq=False)
class Query:
    """A streaming query. `start_line` is None if the module does not start the query."""

    writer: Writer
    start_line: int | None = None
    path: Mapping[str, bool] = field(default_factory=dict)
    """Outcomes of the conditions on the path that starts the query."""
    order: int = MAX_ORDER
    """Number of queries that the module starts before this query, or a large number if it never starts this query."""

    def steps(self, *names: str) -> list[Step]:
        """Return the query's operators with one of these names."""
        return [step for step in self.writer.frame.steps if step.name in names]

    def marks(self, kind: str) -> list[v.Mark]:
        """Return all marks of this kind in the query's operators."""
        return [mark for step in self.writer.frame.steps for mark in step.marks if mark.kind == kind]


@dataclass(eq=False)
class Deletion:
    """A call that deletes a folder before queries `first` to `end` start."""

    path: v.Value
    line: int
    first: int
    tests: tuple[str, ...] = ()
    """Conditions under which the program reaches the deletion."""
    end: int | None = None


@dataclass(frozen=True, eq=False)
class Setting:
    """An assignment of a setting."""

    key: str
    value: v.Value
    line: int
    path: Mapping[str, bool] = field(default_factory=dict)
    """Outcomes of the conditions on the path that assigns the setting."""
    order: int = 0
    """Number of queries that the module starts before this assignment."""

    def concerns(self, query: Query) -> bool:
        """Return whether a path can assign this setting before it starts the query: no condition has two outcomes."""
        return self.order <= query.order and all(
            query.path.get(test, outcome) is outcome for test, outcome in self.path.items()
        )


def size_of(value: v.Value) -> int:
    """Return the number of entries that a changed copy of the value contains."""
    if isinstance(value, v.OneOf):  # each case is compared with all other cases, and each guard with all other guards
        return len(value.cases) ** 2 + sum(len(guard) + size_of(each) for guard, each in value.cases)
    if isinstance(value, Source | Writer):
        return len(value.options) + len(getattr(value, "lines", ()))
    if isinstance(value, Frame):
        return len(value.steps) + len(value.sources)
    if isinstance(value, v.Items):
        return len(value.values)
    if isinstance(value, v.Table):
        return len(value.items)
    return len(value.marks) if isinstance(value, v.Column) else 0
