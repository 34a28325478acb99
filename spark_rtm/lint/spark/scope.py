"""
Track the values of names at a given place in a module.

Where branches join, a name has the values from all branches, each guarded by the condition's outcome. Therefore, a
trigger and an output mode with the same condition stay together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from spark_rtm.lint.problem import spend
from spark_rtm.lint.spark import values as v
from spark_rtm.lint.spark.streams import Frame, Source, Writer, size_of

FUNCTIONS = "pyspark.sql.functions"
SESSION_NAMES = {"spark", "_spark", "spark_session", "sparkSession", "_spark_session"}
"""Parameter, attribute and import names that usually refer to a Spark session."""
WELL_KNOWN: dict[str, v.Value] = {
    "spark": v.Session(),
    "F": v.Library(FUNCTIONS),
    "sf": v.Library(FUNCTIONS),
    "Trigger": v.Library("pyspark.sql.streaming.Trigger"),
    "RealTimeTrigger": v.Library("pyspark.sql.streaming.RealTimeTrigger"),
    "SparkSession": v.Library("pyspark.sql.SparkSession"),
}
"""Names that excerpts often use without a definition."""
FRAGMENT = "_fragment"
"""Placeholder for a method chain's missing receiver."""
MILLISECONDS = "_milliseconds"
"""Placeholder function that adds the unit to a numeric trigger interval in Scala or Java."""
WELL_KNOWN[FRAGMENT] = Writer(Frame(frozenset({v.Unknown()})), is_open=True)
BARE_FUNCTIONS = ("udf", "pandas_udf", "broadcast", "session_window", "current_timestamp", "expr", "col", "lit", "now")
WELL_KNOWN |= {name: v.Library(f"{FUNCTIONS}.{name}") for name in BARE_FUNCTIONS}


SERIALS = count(1)


@dataclass
class State:
    """The values of all names at one place in the code: the scopes (module scope first) and the decided conditions."""

    scopes: list[dict[str, v.Value]] = field(default_factory=lambda: [{}])
    decided: dict[str, bool] = field(default_factory=dict)
    """Outcomes of the conditions under which the code runs."""
    serials: dict[str, int] = field(default_factory=dict)
    """Number of the last assignment to each name in a condition. It distinguishes conditions with equal text."""
    tested: set[str] = field(default_factory=set)
    """Names in the conditions so far, shared by all copies of a state."""
    has_ended: bool = False
    """Whether `return`, `raise`, `break` or `continue` ends the path here."""

    def copy(self) -> State:
        """Return a copy whose changes do not affect this state."""
        scopes = [dict(scope) for scope in self.scopes]
        return State(scopes, dict(self.decided), dict(self.serials), self.tested, self.has_ended)

    def inner(self, scopes: list[dict[str, v.Value]]) -> State:
        """Return the state inside a function, class or comprehension with these scopes."""
        return State(scopes, dict(self.decided), dict(self.serials), self.tested)

    def look_up(self, name: str) -> v.Value:
        """Return a name's value from the innermost scope that defines the name."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in WELL_KNOWN:
            return WELL_KNOWN[name]
        # An excerpt may use undefined names. Store one unknown value per name, which all uses of the name share.
        return self.scopes[0].setdefault(name, v.Unknown())

    def bind(self, name: str, value: v.Value) -> None:
        """Assign a value to a name in the innermost scope."""
        self.scopes[-1][name] = value
        if name in self.tested:
            self.serials[name] = next(SERIALS)

    def refine(self, name: str, value: v.Value) -> None:
        """Narrow a name's value according to a condition."""
        scope = next((scope for scope in reversed(self.scopes) if name in scope), self.scopes[-1])
        scope[name] = value

    def replace_everywhere(self, old: Source | Writer, new: v.Value) -> None:
        """Replace `old` with `new` for every name, because PySpark changes readers and writers in place."""
        for scope in self.scopes:
            for name, value in scope.items():
                if value is old:
                    scope[name] = new
                elif isinstance(value, v.OneOf) and any(each is old for _, each in value.cases):
                    scope[name] = v.OneOf(tuple((guard, new if each is old else each) for guard, each in value.cases))
                elif isinstance(value, v.Table) and any(each is old for each, _ in value.items.values()):
                    items = {key: (new if each is old else each, line) for key, (each, line) in value.items.items()}
                    scope[name] = replace(value, items=items)

    def guard(self, before: Mapping[str, bool]) -> v.Guard:
        """Return the conditions that this path has decided in addition to those in `before`."""
        return frozenset(self.decided.items() - before.items())

    def join(self, paths: Sequence[State], before: Mapping[str, bool]) -> None:
        """Merge the values of all open paths that began under the same conditions. Each entry costs a step."""
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
        spend(sum(size_of(value) for scope in self.scopes for value in scope.values() if isinstance(value, v.OneOf)))


def _joined(scopes: list[dict[str, v.Value]], guards: list[v.Guard]) -> dict[str, v.Value]:
    first = scopes[0]
    changed = {name: None for scope in scopes for name, value in scope.items() if first.get(name) is not value}
    joined = {
        name: v.chosen((guard, scope[name]) for guard, scope in zip(guards, scopes, strict=True) if name in scope)
        for name in changed
    }
    return {**first, **joined}


def size_of_state(state: State) -> int:
    """Return the cost of copying a state in steps: the number of names and conditions, divided by 8."""
    return 1 + (sum(map(len, state.scopes)) + len(state.decided)) // 8


def truth(value: v.Value) -> bool | None:
    """Return the truth value of `value`, or None if unknown."""
    if isinstance(value, v.Const):
        return bool(value.value)
    if isinstance(value, v.Unknown):
        return value.truth
    if isinstance(value, v.Items | v.Table) and not value.is_open:
        return bool(value.values if isinstance(value, v.Items) else value.items)
    return None


def narrowed(value: v.Value, outcome: bool, constant: v.Const | None = None) -> v.Value:  # noqa: FBT001
    """Return the alternatives of `value` for which a test (truth, or equality to `constant`) has this outcome."""
    if constant is not None and outcome:
        return constant
    left: list[tuple[v.Guard, v.Value]] = []
    for guard, each in v.cases_of(value):
        if isinstance(each, v.Unknown):
            excluded = {constant.value} if constant else set()
            truth_value = each.truth if constant else outcome
            left.append((guard, replace(each, truth=truth_value, excluded=each.excluded | excluded)))
        elif each != constant if constant else truth(each) in {None, outcome}:
            left.append((guard, each))
    return v.chosen(left)
