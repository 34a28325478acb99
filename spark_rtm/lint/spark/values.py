"""Represent the possible values of a module's expressions, and extract the parts that rules check."""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

MAX_ALTERNATIVES = 8
MAX_CASES = 12
"""Maximum number of possible values that the linter tracks for a name."""
Guard = frozenset[tuple[str, bool]]
"""The outcomes of conditions under which a value applies."""
ALWAYS: Guard = frozenset()
MAX_TEXT = 10_000
"""Maximum length of a tracked string. Without this limit, a few lines of `a = a + a` would exhaust memory."""
MAX_QUOTED = 80
TRUTH_VALUE = "bool"
"""Origin of an unknown boolean, such as the result of a comparison."""
MAX_NUMBER_BITS = 256


class Value:
    """Base class of all abstract values."""


Entries = dict[str, tuple[Value, int]]
"""Values with their line numbers: the entries of a dictionary, keyword arguments or options."""


@dataclass(frozen=True)
class Const(Value):
    """A constant: a string, a number, a boolean or None."""

    value: object


@dataclass(frozen=True)
class Text(Value):
    """A string with unknown parts, each marked by a NUL character."""

    template: str


@dataclass(frozen=True)
class Number(Value):
    """A number with an unknown value."""


@dataclass(frozen=True, eq=False)
class Unknown(Value):
    """An unknown value."""

    origin: str = ""
    """Dotted name of the library function that returned the value, if known."""
    truth: bool | None = None
    """Truth value that conditions on the path imply, if known."""
    excluded: frozenset[object] = frozenset()
    """Constants that the value cannot equal on the path."""


@dataclass(frozen=True)
class OneOf(Value):
    """Several possible values with their guards, for example from both branches of a condition."""

    cases: tuple[tuple[Guard, Value], ...]


@dataclass(frozen=True, eq=False)
class Table(Value):
    """A dictionary with string keys. If `is_open`, the dictionary may have unknown entries."""

    items: Entries
    is_open: bool = False


@dataclass(frozen=True, eq=False)
class Items(Value):
    """A list, tuple or set. If `is_open`, the collection may have unknown elements."""

    values: tuple[Value, ...]
    is_open: bool = False


@dataclass(frozen=True)
class Library(Value):
    """An imported module or one of its members, identified by its dotted name."""

    name: str


@dataclass(frozen=True)
class Mark:
    """A column property that a rule checks, such as `udf` or `clock`, and the line that causes it."""

    kind: str
    line: int


@dataclass(frozen=True)
class Column(Value):
    """A column expression, with the marks from all its parts."""

    marks: frozenset[Mark] = frozenset()
    name: str | None = None
    """The column's name, a string with parentheses for an expression, or None if unknown."""


@dataclass(frozen=True)
class Udf(Value):
    """A function that runs in a Python worker."""


@dataclass(frozen=True, eq=False)
class Function(Value):
    """A function defined in the module, with its enclosing scopes and its bound object."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scopes: tuple[dict[str, Value], ...] = ()
    bound: Value | None = None


@dataclass(frozen=True, eq=False)
class Class(Value):
    """A class defined in the module."""

    node: ast.ClassDef
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Instance(Value):
    """An instance of a class defined in the module, with the possible values of its attributes."""

    of: Class
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Session(Value):
    """A Spark session or its builder."""


def alternatives(value: Value | None) -> tuple[Value, ...]:
    """Return the possible values of `value`, or an empty tuple for None."""
    if value is None:
        return ()
    return tuple(each for _, each in value.cases) if isinstance(value, OneOf) else (value,)


def cases_of(value: Value) -> tuple[tuple[Guard, Value], ...]:
    """Return the possible values of `value` with their guards."""
    return value.cases if isinstance(value, OneOf) else ((ALWAYS, value),)


def both(first: Guard, second: Guard) -> Guard | None:
    """Return a guard that requires both guards, or None if they contradict each other."""
    return None if any((test, not outcome) in first for test, outcome in second) else first | second


def one_of(values: Iterable[Value]) -> Value:
    """Combine `values` into one value that can be any of them."""
    return chosen((ALWAYS, value) for value in values)


def chosen(cases: Iterable[tuple[Guard, Value]]) -> Value:
    """Combine guarded values into one value without duplicates and with at most `MAX_CASES` alternatives."""
    kept: list[tuple[Guard, Value]] = []
    for outer, value in cases:
        for inner, each in cases_of(value):
            guard = both(outer, inner)
            if guard is None:
                continue
            twin = next((number for number, (_, known) in enumerate(kept) if known == each), None)
            if twin is not None:
                kept[twin] = (kept[twin][0] & guard, kept[twin][1])
            elif len(kept) < MAX_CASES:
                kept.append((guard, each))
    return kept[0][1] if len(kept) == 1 else OneOf(tuple(kept)) if kept else Unknown()


def mapped(value: Value, function: Callable[[Value], Value]) -> Value:
    """Apply a function to each possible value, keeping the guards."""
    return chosen((guard, function(each)) for guard, each in cases_of(value))


def under(value: Value, path: Mapping[str, bool]) -> Value:
    """Return a value's alternatives that are possible after a path's decisions."""
    if not isinstance(value, OneOf):
        return value
    left = [(guard, each) for guard, each in value.cases if all(path.get(test, out) is out for test, out in guard)]
    return value if len(left) == len(value.cases) else chosen(left)


def string(content: str) -> Value:
    """Return a string value. NUL characters mark unknown parts. A very long string becomes unknown."""
    if len(content) > MAX_TEXT:
        return Text("\0")
    return Text(content) if "\0" in content else Const(content)


def plain(content: object) -> str:
    """Return a constant as text, or a NUL character for an integer that is too long for `str`."""
    return "\0" if isinstance(content, int) and content.bit_length() > MAX_NUMBER_BITS else str(content)


def quoted(content: object) -> str:
    """Return a constant's `repr`, shortened for a message."""
    if isinstance(content, int) and content.bit_length() > MAX_NUMBER_BITS:
        return "a very large number"
    if isinstance(content, str | bytes) and len(content) > MAX_QUOTED:
        return f"{content[:MAX_QUOTED]!r}..."
    return repr(content)


def text_of(value: Value | None) -> str | None:
    """Return the string if `value` is known to be one specific string, otherwise None."""
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None


def texts_of(value: Value | None) -> list[str]:
    """Return every possible string of `value`."""
    return [text for text in map(text_of, alternatives(value)) if text is not None]


def template_of(value: Value) -> str:
    """Return a string with a NUL character for each unknown part. An unknown value becomes one NUL character."""
    content = value.template if isinstance(value, Text) else getattr(value, "value", None)
    return content if isinstance(content, str) else "\0"


def elements(value: Value) -> tuple[Value, ...] | None:
    """Return the elements of a short, completely known collection, or None for other values."""
    is_known = isinstance(value, Items) and not value.is_open and len(value.values) <= MAX_ALTERNATIVES
    return value.values if isinstance(value, Items) and is_known else None


def entries_of(value: Value | None, line: int) -> Entries:
    """Return the entries of a dictionary or a list of pairs. Other values have no entries."""
    if not isinstance(value, Items):
        return value.items if isinstance(value, Table) else {}
    pairs = [each.values for each in value.values if isinstance(each, Items) and len(each.values) == 2]
    return {text: (second, line) for first, second in pairs if (text := text_of(first)) is not None}


def known(value: Value | None) -> list[Value]:
    """Return the known alternatives of `value`."""
    return [each for each in alternatives(value) if not isinstance(each, Unknown)]


def as_text(value: Value | None) -> str | None:
    """Return a value, or its only known alternative, as text for Spark, or None if unknown."""
    constants = known(value)
    if len(constants) != 1:
        return None
    content = getattr(constants[0], "value", None)
    return plain(content).lower() if isinstance(content, bool | int | float) else text_of(constants[0])


def _parts(value: OneOf | Items) -> tuple[Value, ...]:
    return value.values if isinstance(value, Items) else alternatives(value)


def marks_of(*values: Value | None) -> frozenset[Mark]:
    """Return the marks of all columns in `values`, including columns in lists and dictionaries."""
    marks: set[Mark] = set()
    waiting = list(values)
    seen: set[int] = set()  # nested collections may contain the same collection many times
    while waiting:
        value = waiting.pop()
        if isinstance(value, Column):
            marks |= value.marks
        elif isinstance(value, OneOf | Items | Table) and id(value) not in seen:
            seen.add(id(value))
            waiting += [each for each, _ in value.items.values()] if isinstance(value, Table) else _parts(value)
    return frozenset(marks)
