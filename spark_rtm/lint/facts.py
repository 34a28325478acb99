"""Define the facts that readers return: the objects that rules check, their line numbers, and unread parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from spark_rtm.lint.marks import CONDITION, SIGN, Marks
from spark_rtm.lint.problem import Problem
from spark_rtm.lint.spark.known_settings import FLAG
from spark_rtm.lint.spark.module import Module
from spark_rtm.text import markdown
from spark_rtm.text.finding import ENGINES

MODE = re.compile(
    r"(?<!near )(?<!near-)\breal[- ]?time\s+(?:mode|triggers?|clusters?|quer(?:y|ies)|jobs?|flows?|pipelines?)\b|"
    r"\brtm\b|\brealTime\b|\bmode\s*=\s*[\"']?real-?time\b",
    re.IGNORECASE,
)
DENIED = re.compile(
    r"\b(?:not|no|nor|never|none|cannot|off|disable[ds]?|without|avoid\w*|instead|rather|unlike|except|unsupported|"
    r"incompatible|offending|refuse[sd]?|reject(?:s|ed)?|forbid\w*|fail(?:s|ed)?|errors?|wrong|false|myth|claims?|if|"
    r"unless|until|remove[sd]?|removing|conflicts?|lacks?|stops?|differ\w*|versus|vs|measured|observed|"
    r"while|but|than|micro-?batch|batch|default\s+trigger|advice|checks?\s+for)\b|n't\b|\?\W{0,20}$",
    re.IGNORECASE,
)
"""Pattern for words that negate advice, make it conditional, or apply it to a different mode."""
SILENT_COLUMN = re.compile(
    r"\b(?:causes?|symptoms?|errors?|before|wrong|problems?|messages?|conditions?|not|reasons?|why|old|previous|legacy|"
    r"incorrect|bad|avoid|don'?ts?|explanations?|refused|limitations?)\b|[\u274c\u2717\u2718]",
    re.IGNORECASE,
)


class Object(dict[str, Any]):
    """A JSON or YAML object, with the line number of each key."""

    def __init__(self, entries: Iterable[tuple[str, int, Any]] = ()) -> None:
        super().__init__()
        self.lines: dict[str, int] = {}
        for key, line, value in entries:
            self.add(key, line, value)

    def add(self, key: str, line: int, value: Any) -> None:
        """Add an entry."""
        self[key] = value
        self.lines[key] = line


class Array(list[Any]):
    """An array in JSON or Python code, with the line number of each item."""

    lines: Sequence[int] = ()


@dataclass
class Cluster:
    """A cluster definition that sets the real-time mode flag, or whose name refers to real-time mode."""

    keys: Object
    kind: str
    """The kind of object: `cluster`, `pipeline`, or `serverless task`."""
    named_at: int
    """Line of the nearest name that refers to real-time mode, for example the job's name, or 0."""

    def __post_init__(self) -> None:
        given = self.keys.get("spark_conf" if "spark_conf" in self.keys else "configuration")
        self.conf = given if isinstance(given, Object) else Object()
        # The Spark settings may be unknown, for example if they come from a variable.
        self.is_open = isinstance(given, str) or "<<" in self.conf or bool({"<<", "policy_id"} & self.keys.keys())
        flag = str(self.conf.get(FLAG, "")).lower()
        self.has_flag = flag == "true" or flag.startswith("${")

    def text(self, key: str) -> str:
        """Return a key's value as text, or an empty string if the key is missing."""
        return str(self.keys.get(key, ""))

    def problem(self, key: str, message: str, fix: str) -> Problem:
        """Return a problem at a key."""
        return Problem(self.keys.lines[key], message, fix)


@dataclass(frozen=True)
class Sentence:
    """A sentence, which may span several lines, or a table cell with its row label."""

    line: int
    text: str
    is_about: bool
    """Whether the nearest mode mentioned in the sentence, its column or the headings above is real-time mode."""
    is_below: bool = True
    """Whether the nearest heading that mentions a mode mentions real-time mode."""
    column: str = ""
    around: str = ""
    """For a table cell, the text of its row. For a sentence, the next sentence if it refers to this sentence."""

    @property
    def is_denied(self) -> bool:
        """Whether the sentence negates its advice, or is in a column of mistakes or causes."""
        words = markdown.replace_code_spans(self.text, lambda _: "x")
        return bool(DENIED.search(words) or SILENT_COLUMN.search(self.column))

    def line_at(self, position: int) -> int:
        """Return the line number of a position."""
        return self.line + self.text.count("\n", 0, position)


@lru_cache(maxsize=100)  # all cells in a row have the same surrounding text
def denies(text: str) -> bool:
    """Return whether a text contains a word, a symbol or an error condition that negates advice."""
    said = markdown.replace_code_spans(text, lambda _: "x")
    return bool(DENIED.search(said) or SIGN.search(said) or CONDITION.search(text))


LineOf = Callable[[int], int]
"""Function that converts a line number in a part to a line number in the file."""


def _same(line: int) -> int:
    return line


@dataclass
class Fact:
    """An object for the rules to check, and restrictions on these rules."""

    subject: Module | Cluster | Sentence
    marks: Marks = field(default_factory=Marks)
    mark: str | None = None
    """Text that marks the whole part as a wrong example, or None."""
    engines: tuple[str, ...] = ENGINES
    only: tuple[str, ...] = ()
    """Id prefixes of the applicable rules (empty: all rules)."""
    severity: str = ""
    """Severity that overrides the rules' severity."""
    line_of: LineOf = _same


@dataclass
class Facts:
    """The facts about a file or a part of a file."""

    parts: list[Fact] = field(default_factory=list)
    unchecked: list[Problem] = field(default_factory=list)

    def add(self, other: Facts, line_of: LineOf = _same, **changes: Any) -> None:
        """Add the facts about a part. `changes` override fields of these facts."""
        for fact in other.parts:
            self.parts.append(replace(fact, line_of=_composed(line_of, fact.line_of), **changes))
        self.unchecked += [problem.at(line_of(problem.line)) for problem in other.unchecked]


def _composed(outer: LineOf, inner: LineOf) -> LineOf:
    return inner if outer is _same else lambda line: outer(inner(line))
