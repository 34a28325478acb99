"""Define the facts that readers return: what rules judge, where it is in the file, and which parts were not read."""

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
"""Words that deny advice, make it conditional, or apply it to another mode."""
SILENT_COLUMN = re.compile(
    r"\b(?:causes?|symptoms?|errors?|before|wrong|problems?|messages?|conditions?|not|reasons?|why|old|previous|legacy|"
    r"incorrect|bad|avoid|don'?ts?|explanations?|refused|limitations?)\b|[\u274c\u2717\u2718]",
    re.IGNORECASE,
)


class Object(dict[str, Any]):
    """An object of a document, with the line number of each key."""

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
    """An array of a JSON text or of Python code, with the line number of each item."""

    lines: Sequence[int] = ()


@dataclass
class Cluster:
    """A cluster in a definition file that sets the real-time mode flag, or has a name that refers to the mode."""

    keys: Object
    kind: str
    """The kind of object: `cluster`, `pipeline`, or `serverless task`."""
    named_at: int
    """The line of the nearest name that refers to real-time mode, for example of the job, or 0."""

    def __post_init__(self) -> None:
        given = self.keys.get("spark_conf" if "spark_conf" in self.keys else "configuration")
        self.conf = given if isinstance(given, Object) else Object()
        # The Spark settings may be unknown, for example if they come from a variable.
        self.is_open = isinstance(given, str) or "<<" in self.conf or bool({"<<", "policy_id"} & self.keys.keys())
        flag = str(self.conf.get(FLAG, "")).lower()
        self.has_flag = flag == "true" or flag.startswith("${")

    def text(self, key: str) -> str:
        """Return the value of a key as text, or an empty string if the key is missing."""
        return str(self.keys.get(key, ""))

    def problem(self, key: str, message: str, fix: str) -> Problem:
        """Return a problem at a key."""
        return Problem(self.keys.lines[key], message, fix)


@dataclass(frozen=True)
class Sentence:
    """A sentence, which may span lines, or a table cell with the label of its row."""

    line: int
    text: str
    is_about: bool
    """Whether the nearest mode named in the sentence, its column or the headings above is real-time mode."""
    is_below: bool = True
    """Whether the nearest heading that names a mode names real-time mode."""
    column: str = ""
    around: str = ""
    """The row of a table cell, or the next sentence if it refers to this one."""

    @property
    def is_denied(self) -> bool:
        """Whether the sentence denies its subject, or is in a column of mistakes or causes."""
        words = markdown.replace_code_spans(self.text, lambda _: "x")
        return bool(DENIED.search(words) or SILENT_COLUMN.search(self.column))

    def line_at(self, position: int) -> int:
        """Return the line number of a position."""
        return self.line + self.text.count("\n", 0, position)


@lru_cache(maxsize=100)  # all cells of a row have the same text around them
def denies(text: str) -> bool:
    """Return whether a text contains a word, a sign or an error condition that denies advice."""
    said = markdown.replace_code_spans(text, lambda _: "x")
    return bool(DENIED.search(said) or SIGN.search(said) or CONDITION.search(text))


LineOf = Callable[[int], int]
"""Converts the line number of a part to that of its file."""


def _same(line: int) -> int:
    return line


@dataclass
class Fact:
    """One object for the rules, and the limits for these rules."""

    subject: Module | Cluster | Sentence
    marks: Marks = field(default_factory=Marks)
    mark: str | None = None
    """The text that marks the whole part as a wrong example, or None."""
    engines: tuple[str, ...] = ENGINES
    only: tuple[str, ...] = ()
    """Prefixes of the ids of the rules that apply; empty means all rules."""
    severity: str = ""
    """The severity of all findings, if it differs from that of the rules."""
    line_of: LineOf = _same


@dataclass
class Facts:
    """The facts of a file or of a part of it."""

    parts: list[Fact] = field(default_factory=list)
    unchecked: list[Problem] = field(default_factory=list)

    def add(self, other: Facts, line_of: LineOf = _same, **changes: Any) -> None:
        """Add the facts of a part. `changes` replace fields of its facts."""
        for fact in other.parts:
            self.parts.append(replace(fact, line_of=_composed(line_of, fact.line_of), **changes))
        self.unchecked += [problem.at(line_of(problem.line)) for problem in other.unchecked]


def _composed(outer: LineOf, inner: LineOf) -> LineOf:
    return inner if outer is _same else lambda line: outer(inner(line))
