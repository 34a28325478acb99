"""
Values of expressions.

What arrives is an expression and the path on which it stands; what leaves is its value, with readers, streams and
writers kept apart from everything else. Real-time mode demands to follow a query through constants, dictionaries,
`**kwargs`, conditional expressions, and functions of the same file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from scripts.lint.spark import columns
from scripts.lint.spark.scope import State, truth
from scripts.lint.spark.streams import Arguments, Value
from scripts.lint.spark.values import (
    Class,
    Column,
    Const,
    Function,
    Instance,
    Items,
    Library,
    Mark,
    Number,
    Table,
    Text,
    Udf,
    Unknown,
    alternatives,
    marks_of,
    one_of,
)

if TYPE_CHECKING:
    from scripts.lint.python.interpreter import Interpreter
from scripts.lint.python.operations import MOST_ALTERNATIVES, arithmetic, compared, item, table_method

STRING_METHODS = {"format", "strip", "lower", "upper", "replace", "join", "removeprefix", "removesuffix"}
CONVERSIONS: dict[str, Value] = {"int": Number(), "float": Number(), "len": Number(), "str": Text("\0")}


class Evaluator:
    """Evaluates expressions for an interpreter, which runs the functions that they call."""

    def __init__(self, interpreter: Interpreter) -> None:
        """Keep the interpreter."""
        self.interpreter = interpreter

    def value(self, node: ast.expr | None, state: State) -> Value:
        """Return the value of an expression; an absent one is None."""
        if node is None:
            return Const(None)
        method = getattr(self, f"_{type(node).__name__.lower()}", self._other)
        found: Value = method(node, state)
        return found

    def arguments(self, node: ast.Call, state: State) -> list[Arguments]:
        """Return what a call may be given, `*` and `**` unfolded."""
        positional, is_open = self._positional(node, state)
        choices: list[list[tuple[dict[str, tuple[Value, int]], bool]]] = []
        for keyword in node.keywords:
            value = self.value(keyword.value, state)
            if keyword.arg is not None:
                choices.append([({keyword.arg: (value, keyword.value.lineno)}, False)])
                continue
            choices.append([_unfolded(each, keyword.value.lineno) for each in alternatives(value)])
        found = []
        for parts in product(*choices):
            keywords = {name: entry for items, _ in parts for name, entry in items.items()}
            found.append(Arguments(positional, keywords, is_open or any(opened for _, opened in parts)))
            if len(found) == MOST_ALTERNATIVES:
                break
        return found

    def _positional(self, node: ast.Call, state: State) -> tuple[tuple[Value, ...], bool]:
        positional: list[Value] = []
        is_open = False
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                value = self.value(argument.value, state)
                positional += value.values if isinstance(value, Items) else ()
                is_open |= not isinstance(value, Items) or value.is_open
            else:
                positional.append(self.value(argument, state))
        return tuple(positional), is_open

    def _other(self, node: ast.expr, state: State) -> Value:
        marks = marks_of(*[self.value(part, state) for part in _parts(node)])
        return Column(marks) if marks else Unknown()

    def _constant(self, node: ast.Constant, _state: State) -> Value:
        return Const(node.value)

    def _name(self, node: ast.Name, state: State) -> Value:
        return state.look_up(node.id)

    def _lambda(self, node: ast.Lambda, state: State) -> Value:
        return Function(node, tuple(state.scopes[1:]))

    def _joinedstr(self, node: ast.JoinedStr, state: State) -> Value:
        template = ""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                known = self.value(part.value, state)
                is_plain = part.format_spec is None and isinstance(known, Const)
                template += str(known.value) if is_plain and isinstance(known, Const) else "\0"
            else:
                template += text if isinstance(text := getattr(part, "value", ""), str) else ""
        return Text(template) if "\0" in template else Const(template)

    def _dict(self, node: ast.Dict, state: State) -> Value:
        items: dict[str, Value] = {}
        is_open = False
        for key, part in zip(node.keys, node.values, strict=True):
            value = self.value(part, state)
            if key is None:
                is_open |= not isinstance(value, Table) or value.is_open
                items |= value.items if isinstance(value, Table) else {}
            elif isinstance(name := self.value(key, state), Const) and isinstance(name.value, str | bool):
                items[str(name.value)] = value
            else:
                is_open = True
        return Table(items, is_open)

    def _list(self, node: ast.List | ast.Tuple | ast.Set, state: State) -> Value:
        starred = any(isinstance(part, ast.Starred) for part in node.elts)
        return Items(tuple(self.value(part, state) for part in node.elts if not isinstance(part, ast.Starred)), starred)

    _tuple = _set = _list

    def _namedexpr(self, node: ast.NamedExpr, state: State) -> Value:
        value = self.value(node.value, state)
        state.bind(node.target.id, value)
        return value

    def _ifexp(self, node: ast.IfExp, state: State) -> Value:
        known = self.interpreter.decision(node.test, state)
        if known is not None:
            return self.value(node.body if known else node.orelse, state)
        return one_of([self.value(node.body, state), self.value(node.orelse, state)])

    def _boolop(self, node: ast.BoolOp, state: State) -> Value:
        values: list[Value] = []
        for part in node.values:
            value = self.value(part, state)
            known = truth(value)
            ends = known is (not isinstance(node.op, ast.And))
            if known is None or ends:
                values.append(value)
            if ends:
                break
        return one_of(values or [value])

    def _binop(self, node: ast.BinOp, state: State) -> Value:
        left, right = self.value(node.left, state), self.value(node.right, state)
        marks = marks_of(left, right)
        if isinstance(node.op, ast.Sub) and any(mark.kind == "clock" for mark in marks):
            marks |= {Mark("clock-difference", node.lineno)}
        if marks:
            return Column(marks)
        return arithmetic(node.op, left, right)

    def _unaryop(self, node: ast.UnaryOp, state: State) -> Value:
        value = self.value(node.operand, state)
        if isinstance(node.op, ast.Not):
            known = truth(value)
            return Unknown() if known is None else Const(not known)
        if isinstance(node.op, ast.USub) and isinstance(value, Const) and isinstance(value.value, int | float):
            return Const(-value.value)
        return value

    def _compare(self, node: ast.Compare, state: State) -> Value:
        left, right = self.value(node.left, state), self.value(node.comparators[0], state)
        if len(node.ops) == 1 and (known := compared(node.ops[0], left, right)) is not None:
            return Const(known)
        return self._other(node, state)

    def _subscript(self, node: ast.Subscript, state: State) -> Value:
        key = self.value(node.slice, state)
        return one_of([item(value, key) for value in alternatives(self.value(node.value, state))])

    def _attribute(self, node: ast.Attribute, state: State) -> Value:
        line = node.end_lineno or node.lineno
        receiver = self.value(node.value, state)
        return one_of([self._one_attribute(value, node.attr, line) for value in alternatives(receiver)])

    def _one_attribute(self, value: Value, name: str, line: int) -> Value:
        if isinstance(value, Instance | Class):
            found = value.attributes.get(name)
            if found is None and isinstance(value, Instance):
                found = value.of.attributes.get(name)
            if isinstance(found, Function) and isinstance(value, Instance):
                return Function(found.node, found.scopes, value)
            return Unknown() if found is None else found
        return columns.attribute(value, name, line)

    def _call(self, node: ast.Call, state: State) -> Value:
        calls = self.arguments(node, state)
        line = node.func.end_lineno or node.lineno
        if isinstance(node.func, ast.Attribute):
            receivers = alternatives(self.value(node.func.value, state))
            found = [
                self._method(value, node.func.attr, given, line, state) for value, given in product(receivers, calls)
            ]
        else:
            name, callees = getattr(node.func, "id", ""), alternatives(self.value(node.func, state))
            found = [self.call(value, given, line, state, name) for value, given in product(callees, calls)]
        return one_of(found[:MOST_ALTERNATIVES])

    def _method(self, value: Value, name: str, given: Arguments, line: int, state: State) -> Value:
        if isinstance(value, Instance | Class | Library):
            return self.call(self._one_attribute(value, name, line), given, line, state, name)
        if isinstance(value, Const | Text) and name in STRING_METHODS:
            return Text("\0")
        if isinstance(value, Table):
            return table_method(value, name, given)
        if name == "transform" and given.positional and isinstance(given.positional[0], Function):
            rest = Arguments((value, *given.positional[1:]), given.keywords, given.is_open)
            return self.call(given.positional[0], rest, line, state)
        return self.interpreter.spark.method(value, name, given, line, state)

    def call(self, callee: Value, given: Arguments, line: int, state: State, name: str = "") -> Value:
        """Return what a callable returns."""
        if isinstance(callee, Function):
            return self.interpreter.inline(callee, given, state)
        if isinstance(callee, Class):
            return self.interpreter.instantiate(callee, given, state)
        if isinstance(callee, Udf):
            return Column(marks_of(*given.positional) | {Mark(callee.kind, line)})
        if isinstance(callee, Library):
            return columns.library_call(callee, given, line)
        return self._builtin_call(callee, given, line, name)

    def _builtin_call(self, callee: Value, given: Arguments, line: int, name: str) -> Value:
        if name == "dict":
            return Table({key: value for key, (value, _) in given.keywords.items()}, bool(given.positional))
        if name in CONVERSIONS:
            return CONVERSIONS[name]
        if name == "display":
            self.interpreter.spark.display(given, line)
        marks = marks_of(*given.positional)
        return Column(marks) if marks else Unknown(callee.origin if isinstance(callee, Unknown) else "")


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr):
            yield part


def _unfolded(value: Value, line: int) -> tuple[dict[str, tuple[Value, int]], bool]:
    if not isinstance(value, Table):
        return {}, True
    return {name: (each, line) for name, each in value.items.items()}, value.is_open
