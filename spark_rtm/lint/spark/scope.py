"""
Track variable values and condition outcomes along one execution path of a module.

Each path records the outcomes of its conditions, so a trigger and an output mode chosen by the same condition stay
together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from spark_rtm.lint.spark.streams import Frame, Reader, Writer
from spark_rtm.lint.spark.values import (
    Const,
    Items,
    Library,
    OneOf,
    Session,
    Table,
    Unknown,
    Value,
    alternatives,
    one_of,
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
"""The name inserted as the first object of a method chain if an excerpt omits the object."""
WELL_KNOWN[FRAGMENT] = Writer(Frame(frozenset({Unknown()})), is_open=True)
BARE_FUNCTIONS = ("udf", "pandas_udf", "broadcast", "session_window", "current_timestamp", "expr", "col", "lit", "now")
WELL_KNOWN |= {name: Library(f"{FUNCTIONS}.{name}") for name in BARE_FUNCTIONS}


@dataclass
class State:
    """One execution path: its scopes (module scope first), its decided conditions, and how the path ended."""

    scopes: list[dict[str, Value]] = field(default_factory=lambda: [{}])
    decided: dict[str, bool] = field(default_factory=dict)
    returned: list[Value] = field(default_factory=list)
    has_ended: bool = False
    leaves_loop: bool = False
    """Whether the path ended with `break` or `continue`. Such a path resumes after the loop body."""

    def copy(self) -> State:
        """Return an independent copy of the path."""
        return State(
            [dict(scope) for scope in self.scopes],
            dict(self.decided),
            list(self.returned),
            self.has_ended,
            self.leaves_loop,
        )

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
        """Assign a value to a name in the innermost scope, and forget the outcomes of conditions that use the name."""
        self.scopes[-1][name] = value
        for test in [test for test in self.decided if name in test]:
            del self.decided[test]

    def replace_everywhere(self, old: Reader | Writer, new: Value) -> None:
        """Rebind every name that refers to `old` to `new`, because PySpark changes readers and writers in place."""
        for scope in self.scopes:
            for name, value in scope.items():
                if value is old:
                    scope[name] = new
                elif isinstance(value, OneOf) and any(each is old for each in value.values):
                    scope[name] = OneOf(tuple(new if each is old else each for each in value.values))
                elif isinstance(value, Table) and any(each is old for each in value.items.values()):
                    items = {key: new if each is old else each for key, each in value.items.items()}
                    scope[name] = replace(value, items=items)

    def is_like(self, other: State) -> bool:
        """Return whether both paths ended the same way and all names have the same values."""
        return self.has_ended == other.has_ended and self.returned == other.returned and self.scopes == other.scopes


def size_of_state(state: State) -> int:
    """Return the cost of a copy or a comparison of a path in steps: its names and conditions, divided by 8."""
    return 1 + (sum(map(len, state.scopes)) + len(state.decided)) // 8


def merged(states: list[State], limit: int = 24) -> list[State]:
    """Merge equal paths, keep only the condition outcomes that they share, and return at most `limit` paths."""
    kept: list[State] = []
    for state in states:
        twin = next((other for other in kept if other.is_like(state)), None)
        if twin is None:
            kept.append(state)
        else:
            twin.decided = {
                test: outcome for test, outcome in twin.decided.items() if state.decided.get(test) is outcome
            }
    # If there are more than `limit` paths, keep `limit` paths that are evenly spaced in the list.
    return kept if len(kept) <= limit else [kept[number * len(kept) // limit] for number in range(limit)]


def truth(value: Value) -> bool | None:
    """Return the truth value of `value`, or None if the truth value is unknown."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Unknown):
        return value.truth
    if isinstance(value, Items | Table) and not value.is_open:
        return bool(value.values if isinstance(value, Items) else value.items)
    return None


def narrowed(value: Value, outcome: bool) -> Value:  # noqa: FBT001
    """Return the alternatives of `value` that can have the truth value `outcome`."""
    left: list[Value] = []
    for each in alternatives(value):
        if isinstance(each, Unknown):
            left.append(replace(each, truth=outcome))
        elif truth(each) in {None, outcome}:
            left.append(each)
    return one_of(left)


def narrowed_by(value: Value, constant: Const, *, equal: bool) -> Value:
    """Return the alternatives of `value` that can equal `constant`, or that can differ from it if `equal` is false."""
    if equal:
        return constant
    left: list[Value] = []
    for each in alternatives(value):
        if isinstance(each, Unknown):
            left.append(replace(each, excluded=each.excluded | {constant.value}))
        elif each != constant:
            left.append(each)
    return one_of(left)
