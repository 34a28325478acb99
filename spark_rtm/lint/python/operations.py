"""Evaluate operators, subscripts and dictionary methods on abstract values."""

import ast

from spark_rtm.lint.spark.scope import FUNCTIONS
from spark_rtm.lint.spark.streams import Arguments, Frame
from spark_rtm.lint.spark.values import (
    MAX_ALTERNATIVES,
    Column,
    Const,
    Items,
    Library,
    Number,
    Table,
    Text,
    Unknown,
    Value,
    one_of,
    plain,
    string,
    text_of,
)


def arithmetic(operator: ast.operator, left: Value, right: Value) -> Value:
    """Return the result of an arithmetic operator."""
    if isinstance(operator, ast.Div) and isinstance(left, Unknown) and left.origin.startswith("tempfile."):
        return left
    numbers = [each.value for each in (left, right) if isinstance(each, Const) and isinstance(each.value, int | float)]
    if len(numbers) > 1 or (isinstance(left, Number) and isinstance(right, Number | Const)):
        return Number()
    if any(isinstance(each, Const | Text) and isinstance(getattr(each, "value", ""), str) for each in (left, right)):
        parts = [each.template if isinstance(each, Text) else getattr(each, "value", "\0") for each in (left, right)]
        separator = {ast.Add: "", ast.Div: "/"}.get(type(operator))  # `/` joins the parts of a path
        if separator is None:
            return Text("\0")
        return string(separator.join(part if isinstance(part, str) else "\0" for part in parts))
    if isinstance(left, Table) and isinstance(right, Table):
        return Table(left.items | right.items, left.is_open or right.is_open, left.lines | right.lines)
    return Unknown()


def compared(operator: ast.cmpop, left: Value, right: Value) -> Value:
    """Return the outcome of a comparison."""
    known = None
    is_equality = isinstance(operator, ast.Eq | ast.Is | ast.NotEq | ast.IsNot)
    if is_equality and isinstance(right, Const):
        if isinstance(left, Const):
            known = (left == right) is isinstance(operator, ast.Eq | ast.Is)
        elif isinstance(left, Unknown) and right.value in left.excluded:
            known = isinstance(operator, ast.NotEq | ast.IsNot)
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(left, Const):
        if isinstance(right, Table) and not right.is_open:
            known = (plain(left.value) in right.items) is isinstance(operator, ast.In)
        if isinstance(right, Items) and not right.is_open and all(isinstance(each, Const) for each in right.values):
            known = (left in right.values) is isinstance(operator, ast.In)
    return Unknown() if known is None else Const(known)


def item(value: Value, key: Value) -> Value:
    """Return the value of `value[key]`."""
    if isinstance(value, Table):
        if isinstance(key, Const):
            known = value.items.get(plain(key.value))
            return known if known is not None else Unknown()
        # An unknown key may select any entry. Keep only dictionaries, because a call may expand one into its arguments.
        return one_of([each for each in value.items.values() if isinstance(each, Table)][:MAX_ALTERNATIVES])
    if isinstance(value, Items) and isinstance(key, Const) and isinstance(key.value, int):
        return value.values[key.value] if -len(value.values) <= key.value < len(value.values) else Unknown()
    if isinstance(value, Frame):
        return Column(name=text_of(key))
    return Column() if isinstance(value, Library) and value.name.startswith(FUNCTIONS) else Unknown()


def table_method(table: Table, name: str, given: Arguments) -> Value:
    """Return the result of a dictionary method."""
    views: dict[str, list[Value]] = {
        "items": [Items((Const(key), value)) for key, value in table.items.items()],
        "values": list(table.items.values()),
        "keys": [Const(key) for key in table.items],
    }
    if name in views:
        return Items(tuple(views[name]), table.is_open)
    if name == "copy":
        return Table(dict(table.items), table.is_open, dict(table.lines))
    if name in {"get", "pop"} and given.positional:
        return item(table, given.positional[0])
    if name == "update":
        for each in given.positional:
            table.items.update(each.items if isinstance(each, Table) else {})
            table.lines.update(each.lines if isinstance(each, Table) else {})
        table.items.update({key: value for key, (value, _) in given.keywords.items()})
        table.lines.update({key: line for key, (_, line) in given.keywords.items()})
        return Const(None)
    return Unknown()
