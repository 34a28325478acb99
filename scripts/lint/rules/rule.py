"""
A rule of the linter, and what a check sees.

What arrives are functions with a documented shape; what leaves are rules with id, engines and a section for the page.
Real-time mode demands rules per engine, as open-source Spark and Databricks refuse different things.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from scripts.lint.spark.intervals import MINIMUM_MS
from scripts.lint.spark.streams import Query, Trigger, Value
from scripts.lint.spark.values import Mark, known, text_of
from scripts.text.finding import DATABRICKS, ENGINES, OSS

BOTH, OSS_ONLY, DATABRICKS_ONLY = ENGINES, (OSS,), (DATABRICKS,)
PAGE = "references/lint_rules.md"
PART = re.compile(r"^(Why|Example|Use instead|Source):[ \n]", re.MULTILINE)


@dataclass(frozen=True)
class Problem:
    """What a check found; engines and severity stand where they differ from those of the rule."""

    line: int
    message: str
    fix: str
    engine: tuple[str, ...] = ()
    severity: str = ""
    lines: frozenset[int] = frozenset()
    """Lines of the query it belongs to: a mark on one of them makes it a counterexample."""


@dataclass
class Module:
    """What a piece of code shows."""

    queries: list[Query] = field(default_factory=list)
    triggers: list[tuple[Trigger, Value]] = field(default_factory=list)
    settings: list[tuple[str, Value, int, bool]] = field(default_factory=list)
    imports: list[tuple[str, int]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    is_spark: bool = True
    minimum_ms: float = MINIMUM_MS

    @property
    def real_time(self) -> list[Query]:
        """Return the queries in real-time mode."""
        return [query for query in self.queries if query.writer.trigger and query.writer.trigger.is_real_time]

    def marks(self, kind: str) -> Iterator[tuple[Query, Mark]]:
        """Yield what the steps of real-time queries use of a kind, with the query."""
        for query in self.real_time:
            for step in query.writer.frame.steps:
                yield from ((query, mark) for mark in step.marks if mark.kind == kind)

    def setting(self, key: str) -> list[tuple[str | None, int]]:
        """Return the values that the module gives to a setting, with their lines."""
        return [(as_text(value), line) for name, value, line, _ in self.settings if name == key]


def as_text(value: Value | None) -> str | None:
    """Return a constant as Spark reads it in an option, or None if it is not certain."""
    constants = known(value)
    if len(constants) != 1:
        return None
    content = getattr(constants[0], "value", None)
    return str(content).lower() if isinstance(content, bool | int | float) else text_of(constants[0])


Check = Callable[..., Iterator[Problem]]


@dataclass(frozen=True)
class Rule:
    """One rule: its function finds problems, its docstring is its section of the page."""

    id: str
    subject: str
    """What the check gets: `module`, `page` or `definition`."""
    engines: tuple[str, ...]
    severity: str
    check: Check

    @property
    def what(self) -> str:
        """Return what the rule finds, in one sentence."""
        return self._parts()["What"]

    @property
    def why(self) -> str:
        """Return why that is bad, in one sentence."""
        return self._parts()["Why"]

    @property
    def example(self) -> str:
        """Return wrong code or text."""
        return self._parts()["Example"]

    @property
    def use_instead(self) -> str:
        """Return the right code or text."""
        return self._parts()["Use instead"]

    @property
    def source(self) -> str:
        """Return where it can be read up."""
        return self._parts()["Source"]

    @property
    def page(self) -> str:
        """Return the link to the section."""
        return f"{PAGE}#{self.id}"

    def section(self) -> str:
        """Return the rule's section of the page, three lines and a blank one."""
        engines = " and ".join(self.engines)
        forms = f"Wrong: {_code(self.example)}. Right: {_code(self.use_instead)}"
        return f"## {self.id}\n{self.what} {_sentence(self.why)}\n{forms} ({self.severity}; {engines}; {self.source})\n"

    def _parts(self) -> dict[str, str]:
        pieces = PART.split(inspect.getdoc(self.check) or "")
        named = dict(zip(pieces[1::2], pieces[2::2], strict=True))
        return {"What": pieces[0].strip(), **{name: inspect.cleandoc(text).strip() for name, text in named.items()}}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _code(text: str) -> str:
    joined = " ".join(line.strip() for line in text.splitlines()).replace(" .", ".")
    return f"`` {joined} ``" if "`" in joined else f"`{joined}`"


class Rules(list[Rule]):
    """Rules in the order in which their functions stand."""

    def add(
        self, rule_id: str, engines: tuple[str, ...] = BOTH, severity: str = "error", subject: str = "module"
    ) -> Callable[[Check], Check]:
        """Return a decorator that adds a function as the check of a rule."""

        def register(check: Check) -> Check:
            self.append(Rule(rule_id, subject, engines, severity, check))
            return check

        return register
