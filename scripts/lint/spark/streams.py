"""
Readers, streams, writers and queries as values.

What arrives are calls of PySpark's methods; what leaves is what they set, each with its line.
Real-time mode demands that stream, writer and trigger of a query are known together, however the code is cut.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from scripts.lint.spark.values import (
    Class,
    Column,
    Const,
    Function,
    Instance,
    Items,
    Library,
    Mark,
    Number,
    OneOf,
    Session,
    Table,
    Text,
    Udf,
    Unknown,
)

KEYWORDS = ("processingTime", "once", "continuous", "availableNow", "realTime")
"""Keywords of `trigger`."""


@dataclass(frozen=True, eq=False)
class Source:
    """One call that loads a stream or a table."""

    format: Value | None
    options: dict[str, tuple[Value, int]]
    line: int


@dataclass(frozen=True, eq=False)
class Reader:
    """`spark.readStream` or `spark.read` and what was set on it."""

    is_streaming: bool
    format: Value | None = None
    format_line: int = 0
    options: dict[str, tuple[Value, int]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Step:
    """One operator of a stream; `other` is the right side of a join or union."""

    name: str
    line: int
    left: Frame
    arguments: Arguments
    marks: frozenset[Mark] = frozenset()
    other: Frame | None = None


@dataclass(frozen=True, eq=False)
class Frame:
    """A DataFrame: its sources, its operators in order, and whether it streams (None if unknown)."""

    sources: frozenset[Source | Unknown] = frozenset()
    steps: tuple[Step, ...] = ()
    is_streaming: bool | None = None
    is_broadcast: bool = False
    is_grouped: bool = False
    is_small: bool = False


@dataclass(frozen=True, eq=False)
class Arguments:
    """Arguments of one call; `is_open` if there may be more than is known."""

    positional: tuple[Value, ...] = ()
    keywords: dict[str, tuple[Value, int]] = field(default_factory=dict)
    is_open: bool = False

    def get(self, name: str, position: int | None = None) -> Value | None:
        """Return the argument of this name, or at this position, or None."""
        if name in self.keywords:
            return self.keywords[name][0]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None


@dataclass(frozen=True, eq=False)
class Trigger:
    """One call of `trigger`."""

    arguments: Arguments
    line: int

    @property
    def is_real_time(self) -> bool:
        """Tell whether real-time mode, and nothing else, is asked for."""
        others = [name for name in self.kinds if name != "realTime"]
        return self.value("realTime") is not None and not others

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the keywords that carry a value."""
        return tuple(name for name in self.arguments.keywords if name in KEYWORDS and self.value(name) is not None)

    def value(self, name: str) -> Value | None:
        """Return the value of a keyword; None stands for an absent one, too."""
        value = self.arguments.get(name)
        return None if value == Const(None) else value

    def line_of(self, name: str) -> int:
        """Return the line of a keyword."""
        return self.arguments.keywords[name][1] if name in self.arguments.keywords else self.line


@dataclass(frozen=True, eq=False)
class Writer:
    """`stream.writeStream` and what was set on it; a fragment if the beginning of the chain is not in sight."""

    frame: Frame
    format: tuple[Value, int] | None = None
    mode: tuple[Value, int] | None = None
    options: dict[str, tuple[Value, int]] = field(default_factory=dict)
    is_open: bool = False
    trigger: Trigger | None = None
    sinks: tuple[tuple[str, int], ...] = ()
    lines: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Query:
    """A writer that was started, or that the module leaves for others to start."""

    writer: Writer
    start_line: int | None = None


Value: TypeAlias = (
    Const | Text | Number | Unknown | OneOf | Table | Items | Library | Column | Udf | Function | Class | Instance
    | Session | Reader | Frame | Writer
)  # fmt: skip
