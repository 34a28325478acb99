"""Build Python syntax nodes where Spark's Scala and Java API differs from PySpark."""

import ast
import re
from collections.abc import Sequence
from typing import TypeVar

from spark_rtm.lint.spark.scope import MILLISECONDS

Node = TypeVar("Node", bound="ast.expr | ast.stmt | ast.keyword")
ATTRIBUTES = {"readStream", "writeStream", "read", "conf", "builder", "sqlContext"}
"""Methods in Java, or in Scala with parentheses, that are attributes in PySpark."""
CALLED = {"as", "load", "start", "count", "distinct", "getOrCreate", "awaitTermination"}
"""Methods that Scala can call without parentheses."""
RENAMED = {"groupByKey": "groupBy", "as": "alias", "map": "select", "flatMap": "select", "mapValues": "select",
           "reduceGroups": "agg", "where": "filter"}  # fmt: skip
COLLECTIONS = {"Seq", "List", "Array", "Vector"}
MAPS = {"HashMap", "LinkedHashMap", "TreeMap", "ConcurrentHashMap"}
TRIGGERS = {"RealTime": "realTime", "ProcessingTime": "processingTime", "Continuous": "continuous",
            "AvailableNow": "availableNow", "Once": "once"}  # fmt: skip
UNITS = {"second", "minute", "hour", "day", "millisecond", "milli", "microsecond"}
INTERPOLATED = re.compile(r"\$\{[^}\"]*\}|\$\w+")


def at(node: Node, line: int, end: int | None = None) -> Node:
    """Set the line numbers of a node."""
    node.lineno, node.end_lineno, node.col_offset, node.end_col_offset = line, end or line, 0, 0
    return node


def name(text: str, line: int) -> ast.Name:
    """Return a variable node."""
    return at(ast.Name(text, ast.Load()), line)


def constant(value: object, line: int) -> ast.Constant:
    """Return a constant node."""
    return at(ast.Constant(value), line)  # type: ignore[arg-type]  # Scala and Java have the same constants as Python


def opaque(parts: Sequence[ast.expr], line: int) -> ast.expr:
    """Return a node for an unknown value that depends on other values."""
    return at(ast.Call(name("_opaque", line), list(parts), []), line)


def text(token: str, line: int) -> ast.expr:
    """Return a string node, in which NUL characters mark interpolated, unknown parts."""
    prefix, _, content = token[:-1].partition('"')
    return constant(INTERPOLATED.sub("\0", content) if prefix in {"s", "f"} else content, line)


def attribute(value: ast.expr, member: str, line: int) -> ast.expr:
    """Return an attribute node in PySpark's form."""
    if isinstance(value, ast.Name):
        if value.id in {"OutputMode", "OutputModes", "TimeMode"}:
            return constant(member if value.id == "TimeMode" else member.lower(), line)
        if value.id in {"functions", "this"}:
            return name(member, line)
    if isinstance(value, ast.Constant) and isinstance(value.value, int) and member.rstrip("s") in UNITS:
        unit = "milliseconds" if member.startswith("milli") else member
        return constant(f"{value.value} {unit}", line)
    node = at(ast.Attribute(value, RENAMED.get(member, member), ast.Load()), line)
    return at(ast.Call(node, [], []), line) if member in CALLED else node


def call(function: ast.expr, given: list[ast.expr], line: int) -> ast.expr:
    """Return a call node in PySpark's form."""
    if isinstance(function, ast.Constant):
        return function  # `OutputMode.Update()`
    while isinstance(function, ast.Attribute) and function.attr == "apply":
        function = function.value
    member = _member(function)
    if isinstance(function, ast.Attribute) and member in ATTRIBUTES and not given:
        return function
    if isinstance(function, ast.Call):  # a second argument list, or the parentheses in `.load()`
        return at(ast.Call(function.func, [*function.args, *given], function.keywords), line)
    return _special(function, member, given, line) or at(ast.Call(function, given, []), line)


def _special(function: ast.expr, member: str, given: list[ast.expr], line: int) -> ast.expr | None:
    """Return a node for a call that builds a trigger, a collection or keyword arguments, or None for other calls."""
    owner = function.value if isinstance(function, ast.Attribute) else None
    if member in COLLECTIONS and owner is None:
        return at(ast.List(given, ast.Load()), line)
    if member in MAPS | {"Map"} or (member in {"of", "ofEntries"} and _member(owner) == "Map"):
        return _dictionary(given, line)
    if member in {"trigger", "options"} and len(given) == 1:
        return at(ast.Call(function, [], [_keyword(None, given[0])]), line)
    if member == "transformWithState":
        modes = [each for each in given if isinstance(each, ast.Constant) and "Time" in str(each.value)]
        return at(ast.Call(function, [], [_keyword("timeMode", each) for each in modes[:1]]), line)
    return _trigger(owner, member, given, line)


def _member(function: ast.expr | None) -> str:
    if isinstance(function, ast.Call):
        return _member(function.func)
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _keyword(arg: str | None, value: ast.expr) -> ast.keyword:
    return at(ast.keyword(arg, value), value.lineno)


def _trigger(owner: ast.expr | None, member: str, given: list[ast.expr], line: int) -> ast.expr | None:
    if member == "RealTimeTrigger" or (member == "RealTime" and owner is None):  # or imported from `Trigger`
        keyword = "realTime"
    elif member in TRIGGERS and _member(owner) == "Trigger":
        keyword = TRIGGERS[member]
    else:
        return None
    default = constant("5 minutes" if keyword == "realTime" else "1 second", line)
    value = _interval(given, line) if given else default
    return at(ast.Dict([constant(keyword, line)], [value]), line)


def _interval(given: list[ast.expr], line: int) -> ast.expr:
    first = given[0]
    if isinstance(first, ast.Constant) and type(first.value) is int:
        unit = _member(given[1]).lower() if len(given) > 1 else "milliseconds"
        return constant(f"{first.value} {unit}", line) if unit.rstrip("s") in UNITS else opaque([], line)
    if isinstance(first, ast.Call) and _member(first) in {"Duration", "create"} and first.args:
        return _interval(first.args, line)
    if isinstance(first, ast.Constant):
        return constant(0, line) if first.value is None else first
    return at(ast.Call(name(MILLISECONDS, line), [first], []), line)


def _dictionary(given: list[ast.expr], line: int) -> ast.expr:
    pairs = [(each.elts[0], each.elts[1]) for each in given if isinstance(each, ast.Tuple) and len(each.elts) == 2]
    if not pairs:
        pairs = list(zip(given[::2], given[1::2], strict=False))
    return at(ast.Dict([key for key, _ in pairs], [value for _, value in pairs]), line)
