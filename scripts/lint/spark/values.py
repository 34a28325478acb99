"""
What an expression of a linted module may stand for.

What arrives are constants, calls and attributes of a syntax tree; what leaves are values that the rules understand.
Real-time mode demands to tell what is certain from what is only possible.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scripts.lint.spark.streams import Value


@dataclass(frozen=True)
class Const:
    """A constant: text, number, truth value or None."""

    value: object


@dataclass(frozen=True)
class Text:
    """A string of which parts are unknown; each unknown part is a NUL character."""

    template: str


@dataclass(frozen=True)
class Number:
    """A number whose value is unknown."""


@dataclass(frozen=True, eq=False)
class Unknown:
    """
    Anything.

    `origin` is the dotted name of another library that made it, if one did; conditions on the path may say whether it
    is true and which constants it is not.
    """

    origin: str = ""
    truth: bool | None = None
    excluded: frozenset[object] = frozenset()


@dataclass(frozen=True)
class OneOf:
    """One of several values, such as a parameter with a default."""

    values: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """A dictionary with text keys; `is_open` if it may hold more than is known."""

    items: dict[str, Value]
    is_open: bool = False


@dataclass(frozen=True, eq=False)
class Items:
    """A list, tuple or set; `is_open` if it may hold more than is known."""

    values: tuple[Value, ...]
    is_open: bool = False


@dataclass(frozen=True)
class Library:
    """A name of an imported module, or of something in it, in dotted form."""

    name: str


@dataclass(frozen=True)
class Mark:
    """A property of a column that a rule asks for, and the line that gave it."""

    kind: str
    line: int


@dataclass(frozen=True)
class Column:
    """A column expression with the marks of all its parts."""

    marks: frozenset[Mark] = frozenset()
    name: str = ""


@dataclass(frozen=True)
class Udf:
    """A function that runs in a Python worker."""

    kind: str


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the module, with the scopes around it and the object it is bound to."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scopes: tuple[dict[str, Value], ...] = ()
    bound: Value | None = None


@dataclass(frozen=True, eq=False)
class Class:
    """A class of the module."""

    node: ast.ClassDef
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Instance:
    """An object of a class of the module, with the values its attributes may have."""

    of: Class
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Session:
    """A Spark session, or the builder of one."""


def alternatives(value: Value | None) -> tuple[Value, ...]:
    """Return what `value` may be."""
    if value is None:
        return ()
    return value.values if isinstance(value, OneOf) else (value,)


def one_of(values: list[Value]) -> Value:
    """Join `values` into one, each once."""
    flat: list[Value] = []
    for value in values:
        flat += [each for each in alternatives(value) if each not in flat]
    return flat[0] if len(flat) == 1 else OneOf(tuple(flat[:8])) if flat else Unknown()


def text_of(value: Value | None) -> str | None:
    """Return the text that `value` certainly is, or None."""
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None


def texts_of(value: Value | None) -> list[str]:
    """Return every text that `value` may be."""
    return [text for text in map(text_of, alternatives(value)) if text is not None]


def known(value: Value | None) -> list[Value]:
    """Return what `value` may be, without what is unknown."""
    return [each for each in alternatives(value) if not isinstance(each, Unknown)]


def marks_of(*values: Value | None) -> frozenset[Mark]:
    """Return the marks of all columns among `values`, also of those in lists and dictionaries."""
    found: set[Mark] = set()
    for value in values:
        if isinstance(value, Column):
            found |= value.marks
        elif isinstance(value, OneOf | Items):
            found |= marks_of(*value.values)
        elif isinstance(value, Table):
            found |= marks_of(*value.items.values())
    return frozenset(found)
