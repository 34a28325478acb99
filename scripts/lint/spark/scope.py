"""
Names and decisions along one path through a module.

What arrives are assignments and the outcome of conditions; what leaves are values of names on that path.
Real-time mode demands that a trigger and an output mode chosen by the same condition stay together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from scripts.lint.spark.streams import Frame, Reader, Value, Writer
from scripts.lint.spark.values import Const, Items, Library, OneOf, Session, Table, Unknown, alternatives, one_of

FUNCTIONS = "pyspark.sql.functions"
WELL_KNOWN: dict[str, Value] = {
    "spark": Session(),
    "F": Library(FUNCTIONS),
    "sf": Library(FUNCTIONS),
    "Trigger": Library("pyspark.sql.streaming.Trigger"),
    "RealTimeTrigger": Library("pyspark.sql.streaming.RealTimeTrigger"),
    "SparkSession": Library("pyspark.sql.SparkSession"),
}
"""Names that excerpts of code use without binding them."""
FRAGMENT = "_fragment"
"""Stands for the writer whose beginning an excerpt leaves out."""
WELL_KNOWN[FRAGMENT] = Writer(Frame(frozenset({Unknown()})), is_open=True)
BARE_FUNCTIONS = ("udf", "pandas_udf", "broadcast", "session_window", "current_timestamp", "expr", "col", "lit", "now")
WELL_KNOWN |= {name: Library(f"{FUNCTIONS}.{name}") for name in BARE_FUNCTIONS}


@dataclass
class State:
    """One path: scopes (the module's first), conditions that were decided, and how the path ended."""

    scopes: list[dict[str, Value]] = field(default_factory=lambda: [{}])
    decided: dict[str, bool] = field(default_factory=dict)
    returned: list[Value] = field(default_factory=list)
    has_ended: bool = False
    leaves_loop: bool = False
    """Whether it ended by `break` or `continue`, so that it goes on after the loop's body."""

    def copy(self) -> State:
        """Return a path that goes its own way from here."""
        return State(
            [dict(scope) for scope in self.scopes],
            dict(self.decided),
            list(self.returned),
            self.has_ended,
            self.leaves_loop,
        )

    def look_up(self, name: str) -> Value:
        """Return the value of a name, innermost scope first."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in WELL_KNOWN:
            return WELL_KNOWN[name]
        # An excerpt need not bind its names: give the same thing to the same name.
        return self.scopes[0].setdefault(name, Unknown())

    def bind(self, name: str, value: Value) -> None:
        """Assign to a name of the innermost scope, and forget what was decided about it."""
        self.scopes[-1][name] = value
        for test in [test for test in self.decided if name in test]:
            del self.decided[test]

    def replace_everywhere(self, old: Reader | Writer, new: Value) -> None:
        """Let every name of `old` stand for `new`, as PySpark's readers and writers change in place."""
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
        """Tell whether both paths know the same of every name."""
        return self.has_ended == other.has_ended and self.returned == other.returned and self.scopes == other.scopes


def merged(states: list[State], limit: int = 24) -> list[State]:
    """Return `states` without those that equal an earlier one; its decisions then hold only where both agree."""
    kept: list[State] = []
    for state in states:
        twin = next((other for other in kept if other.is_like(state)), None)
        if twin is None:
            kept.append(state)
        else:
            twin.decided = {test: yes for test, yes in twin.decided.items() if state.decided.get(test) is yes}
    # Too many paths: those that are left out are spread evenly.
    return kept if len(kept) <= limit else [kept[number * len(kept) // limit] for number in range(limit)]


def truth(value: Value) -> bool | None:
    """Return the truth of a value, or None if it is not certain."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Unknown):
        return value.truth
    if isinstance(value, Items | Table) and not value.is_open:
        return bool(value.values if isinstance(value, Items) else value.items)
    return None


def narrowed(value: Value, outcome: bool) -> Value:  # noqa: FBT001
    """Return what is left of `value` on a path on which it is true, or false."""
    left: list[Value] = []
    for each in alternatives(value):
        if isinstance(each, Unknown):
            left.append(replace(each, truth=outcome))
        elif truth(each) in {None, outcome}:
            left.append(each)
    return one_of(left)


def narrowed_by(value: Value, constant: Const, *, equal: bool) -> Value:
    """Return what is left of `value` on a path on which it equals `constant`, or does not."""
    if equal:
        return constant
    left: list[Value] = []
    for each in alternatives(value):
        if isinstance(each, Unknown):
            left.append(replace(each, excluded=each.excluded | {constant.value}))
        elif each != constant:
            left.append(each)
    return one_of(left)
