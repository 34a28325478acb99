"""
Track the values of names at one place in a module.

Where branches join, a name has the values of all branches, each guarded by the outcome of the condition. A trigger and
an output mode with the same condition therefore stay together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from spark_rtm.lint.spark.streams import Frame, Source, Writer
from spark_rtm.lint.spark.values import (
    Const,
    Guard,
    Items,
    Library,
    OneOf,
    Session,
    Table,
    Unknown,
    Value,
    cases_of,
    chosen,
)

FUNCTIONS = "pyspark.sql.functions"
SESSION_NAMES = {"spark", "_spark", "spark_session", "sparkSession", "_spark_session"}
"""Names of parameters, attributes and imports that hold a session."""
WELL_KNOWN: dict[str, Value] = {
    "spark": Session(),
    "F": Library(FUNCTIONS),
    "sf": Library(FUNCTIONS),
    "Trigger": Library("pyspark.sql.streaming.Trigger"),
    "RealTimeTrigger": Library("pyspark.sql.streaming.RealTimeTrigger"),
    "SparkSession": Library("pyspark.sql.SparkSession"),
}
"""Names that excerpts use without defining them."""
FRAGMENT = "_fragment"
"""The first object of a method chain whose excerpt omits it."""
MILLISECONDS = "_milliseconds"
"""The function that adds a unit to the number of a trigger in Scala or Java."""
WELL_KNOWN[FRAGMENT] = Writer(Frame(frozenset({Unknown()})), is_open=True)
BARE_FUNCTIONS = ("udf", "pandas_udf", "broadcast", "session_window", "current_timestamp", "expr", "col", "lit", "now")
WELL_KNOWN |= {name: Library(f"{FUNCTIONS}.{name}") for name in BARE_FUNCTIONS}


SERIALS = count(1)


@dataclass
class State:
    """The values of all names at one place in the code: its scopes (module scope first) and decided conditions."""

    scopes: list[dict[str, Value]] = field(default_factory=lambda: [{}])
    decided: dict[str, bool] = field(default_factory=dict)
    """Outcomes of the conditions under which the code runs."""
    serials: dict[str, int] = field(default_factory=dict)
    """Serial number of the last assignment to each tested name, which distinguishes conditions with equal text."""
    tested: set[str] = field(default_factory=set)
    """The names in the conditions so far, shared by all copies of a state."""
    has_ended: bool = False
    """Whether `return`, `raise`, `break` or `continue` ends the path here."""

    def copy(self) -> State:
        """Return a copy whose changes do not affect this state."""
        scopes = [dict(scope) for scope in self.scopes]
        return State(scopes, dict(self.decided), dict(self.serials), self.tested, self.has_ended)

    def inner(self, scopes: list[dict[str, Value]]) -> State:
        """Return the state in a function, class or comprehension with these scopes."""
        return State(scopes, dict(self.decided), dict(self.serials), self.tested)

    def look_up(self, name: str) -> Value:
        """Return the value of a name from the innermost scope that defines it."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in WELL_KNOWN:
            return WELL_KNOWN[name]
        # An excerpt may use undefined names. Store one unknown value per name, so each use of the name has this value.
        return self.scopes[0].setdefault(name, Unknown())

    def bind(self, name: str, value: Value) -> None:
        """Assign a value to a name in the innermost scope."""
        self.scopes[-1][name] = value
        if name in self.tested:
            self.serials[name] = next(SERIALS)

    def refine(self, name: str, value: Value) -> None:
        """Narrow the value of a name by a condition."""
        scope = next((scope for scope in reversed(self.scopes) if name in scope), self.scopes[-1])
        scope[name] = value

    def replace_everywhere(self, old: Source | Writer, new: Value) -> None:
        """Replace `old` with `new` for every name, because PySpark changes readers and writers in place."""
        for scope in self.scopes:
            for name, value in scope.items():
                if value is old:
                    scope[name] = new
                elif isinstance(value, OneOf) and any(each is old for _, each in value.cases):
                    scope[name] = OneOf(tuple((guard, new if each is old else each) for guard, each in value.cases))
                elif isinstance(value, Table) and any(each is old for each, _ in value.items.values()):
                    items = {key: (new if each is old else each, line) for key, (each, line) in value.items.items()}
                    scope[name] = replace(value, items=items)

    def guard(self, before: Mapping[str, bool]) -> Guard:
        """Return the conditions that this path has decided in addition to those in `before`."""
        return frozenset(self.decided.items() - before.items())

    def join(self, paths: Sequence[State], before: Mapping[str, bool]) -> None:
        """Merge the values of all open paths that began under the same conditions."""
        going = [path for path in paths if not path.has_ended]
        self.has_ended = not going
        if not going:
            return
        guards = [path.guard(before) for path in going]
        joined = [_joined([path.scopes[number] for path in going], guards) for number in range(len(self.scopes))]
        for scope, values in zip(self.scopes, joined, strict=True):
            scope.clear()
            scope.update(values)
        self.serials = {
            name: serial if all(path.serials.get(name) == serial for path in going) else next(SERIALS)
            for path in going
            for name, serial in path.serials.items()
        }
        self.decided = dict(set.intersection(*[set(path.decided.items()) for path in going]))


def _joined(scopes: list[dict[str, Value]], guards: list[Guard]) -> dict[str, Value]:
    first = scopes[0]
    changed = {name: None for scope in scopes for name, value in scope.items() if first.get(name) is not value}
    joined = {
        name: chosen((guard, scope[name]) for guard, scope in zip(guards, scopes, strict=True) if name in scope)
        for name in changed
    }
    return {**first, **joined}


def truth(value: Value) -> bool | None:
    """Return the truth value of `value`, or None if unknown."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Unknown):
        return value.truth
    if isinstance(value, Items | Table) and not value.is_open:
        return bool(value.values if isinstance(value, Items) else value.items)
    return None


def narrowed(value: Value, outcome: bool, constant: Const | None = None) -> Value:  # noqa: FBT001
    """Return the alternatives of `value` for which a test (truth, or equality to `constant`) has this outcome."""
    if constant is not None and outcome:
        return constant
    left: list[tuple[Guard, Value]] = []
    for guard, each in cases_of(value):
        if isinstance(each, Unknown):
            excluded = {constant.value} if constant else set()
            truth_value = each.truth if constant else outcome
            left.append((guard, replace(each, truth=truth_value, excluded=each.excluded | excluded)))
        elif each != constant if constant else truth(each) in {None, outcome}:
            left.append((guard, each))
    return chosen(left)
