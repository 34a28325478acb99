"""
Evaluate expressions to abstract values, without running the code.

Code often sets a query's options and trigger through constants, dictionaries, `**kwargs`, conditional expressions
and functions in the same module. The linter therefore evaluates all of these.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice, product

from scripts.lint.python.operations import arithmetic, compared, item, table_method
from scripts.lint.rules.budget import Steps
from scripts.lint.spark import columns
from scripts.lint.spark.calls import SparkCalls
from scripts.lint.spark.scope import State, size_of_state, truth
from scripts.lint.spark.streams import Arguments, Reader, Writer, size_of
from scripts.lint.spark.values import (
    MAX_ALTERNATIVES,
    MAX_TEXT,
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
    Value,
    alternatives,
    marks_of,
    one_of,
    plain,
    string,
)

STRING_METHODS = {"format", "strip", "lower", "upper", "replace", "join", "removeprefix", "removesuffix"}
CONVERSIONS: dict[str, Value] = {"int": Number(), "float": Number(), "len": Number(), "str": Text("\0")}


class Evaluator(ABC):
    """Evaluates expressions, with one `_value_*` method per kind of syntax node."""

    def __init__(self) -> None:
        self.spark = SparkCalls()
        self.steps = Steps()

    @abstractmethod
    def decision(self, test: ast.expr, state: State) -> bool | None:
        """Return the outcome of a condition on this path, or None if the outcome is unknown."""

    @abstractmethod
    def inline(self, function: Function, given: Arguments | None, state: State) -> Value:
        """Follow a function in the module and return its result; `given` is None if the arguments are unknown."""

    def value(self, node: ast.expr | None, state: State) -> Value:
        """
        Return the value of an expression, or the constant None if there is no expression.

        The expression costs one step, and one for each entry of its value, which may be a copy of another value.
        """
        if node is None:
            return Const(None)
        self.steps.spend()
        method = getattr(self, f"_value_{type(node).__name__.lower()}", self._value_of_parts)
        value: Value = method(node, state)
        if not isinstance(node, ast.Name):
            self.steps.spend(size_of(value))
        return value

    def arguments(self, node: ast.Call, state: State) -> list[Arguments]:
        """Return the possible argument lists of a call, with `*` and `**` arguments expanded."""
        positional, is_open = self._positional(node, state)
        choices: list[list[tuple[dict[str, tuple[Value, int]], bool]]] = []
        for keyword in node.keywords:
            value = self.value(keyword.value, state)
            if keyword.arg is not None:
                choices.append([({keyword.arg: (value, keyword.value.lineno)}, False)])
                continue
            choices.append([_expanded(each, keyword.value.lineno) for each in alternatives(value)])
        calls = []
        for parts in islice(product(*choices), MAX_ALTERNATIVES):
            keywords = {name: entry for items, _ in parts for name, entry in items.items()}
            self.steps.spend(sum(map(size_of, positional)) + sum(size_of(value) for value, _ in keywords.values()))
            calls.append(Arguments(positional, keywords, is_open or any(opened for _, opened in parts)))
        return calls

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

    def _value_of_parts(self, node: ast.expr, state: State) -> Value:
        marks = marks_of(*[self.value(part, state) for part in _parts(node)])
        return Column(marks) if marks else Unknown()

    def _value_constant(self, node: ast.Constant, _state: State) -> Value:
        is_long = isinstance(node.value, str) and len(node.value) > MAX_TEXT
        return Text("\0") if is_long else Const(node.value)

    def _value_name(self, node: ast.Name, state: State) -> Value:
        return state.look_up(node.id)

    def _value_lambda(self, node: ast.Lambda, state: State) -> Value:
        return Function(node, tuple(state.scopes[1:]))

    def _value_joinedstr(self, node: ast.JoinedStr, state: State) -> Value:
        template = ""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                known = self.value(part.value, state)
                is_plain = part.format_spec is None and isinstance(known, Const)
                template += plain(known.value) if is_plain and isinstance(known, Const) else "\0"
            else:
                template += text if isinstance(text := getattr(part, "value", ""), str) else ""
            if len(template) > MAX_TEXT:
                break
        return string(template)

    def _value_dict(self, node: ast.Dict, state: State) -> Value:
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

    def _value_list(self, node: ast.List | ast.Tuple | ast.Set, state: State) -> Value:
        starred = any(isinstance(part, ast.Starred) for part in node.elts)
        return Items(tuple(self.value(part, state) for part in node.elts if not isinstance(part, ast.Starred)), starred)

    _value_tuple = _value_set = _value_list

    def _value_namedexpr(self, node: ast.NamedExpr, state: State) -> Value:
        value = self.value(node.value, state)
        self.spark.unnamed.discard(value)
        state.bind(node.target.id, value)
        return value

    def _value_ifexp(self, node: ast.IfExp, state: State) -> Value:
        known = self.decision(node.test, state)
        if known is not None:
            return self.value(node.body if known else node.orelse, state)
        return one_of([self.value(node.body, state), self.value(node.orelse, state)])

    def _value_boolop(self, node: ast.BoolOp, state: State) -> Value:
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

    def _value_binop(self, node: ast.BinOp, state: State) -> Value:
        left, right = self.value(node.left, state), self.value(node.right, state)
        marks = marks_of(left, right)
        if isinstance(node.op, ast.Sub) and any(mark.kind == "clock" for mark in marks):
            marks |= {Mark("clock-difference", node.lineno)}
        if marks:
            return Column(marks)
        return arithmetic(node.op, left, right)

    def _value_unaryop(self, node: ast.UnaryOp, state: State) -> Value:
        value = self.value(node.operand, state)
        if isinstance(node.op, ast.Not):
            known = truth(value)
            return Unknown() if known is None else Const(not known)
        if isinstance(node.op, ast.USub) and isinstance(value, Const) and isinstance(value.value, int | float):
            return Const(-value.value)
        return value

    def _value_compare(self, node: ast.Compare, state: State) -> Value:
        left, right = self.value(node.left, state), self.value(node.comparators[0], state)
        if len(node.ops) == 1 and (known := compared(node.ops[0], left, right)) is not None:
            return Const(known)
        return self._value_of_parts(node, state)

    def _value_subscript(self, node: ast.Subscript, state: State) -> Value:
        key = self.value(node.slice, state)
        return one_of([item(value, key) for value in alternatives(self.value(node.value, state))])

    def _value_attribute(self, node: ast.Attribute, state: State) -> Value:
        line = node.end_lineno or node.lineno
        receiver = self.value(node.value, state)
        return one_of([self._one_attribute(value, node.attr, line) for value in alternatives(receiver)])

    def _one_attribute(self, value: Value, name: str, line: int) -> Value:
        if isinstance(value, Instance | Class):
            attribute = value.attributes.get(name)
            if attribute is None and isinstance(value, Instance):
                attribute = value.of.attributes.get(name)
            if isinstance(attribute, Function) and isinstance(value, Instance):
                return Function(attribute.node, attribute.scopes, value)
            return Unknown() if attribute is None else attribute
        result = columns.attribute(value, name, line)
        if isinstance(result, Reader | Writer):
            self.spark.unnamed.add(result)
        return result

    def _value_call(self, node: ast.Call, state: State) -> Value:
        calls = self.arguments(node, state)
        line = node.func.end_lineno or node.lineno
        if isinstance(node.func, ast.Attribute):
            receivers = alternatives(self.value(node.func.value, state))
            results = [
                self._method(value, node.func.attr, given, line, state) for value, given in product(receivers, calls)
            ]
        else:
            name, callees = getattr(node.func, "id", ""), alternatives(self.value(node.func, state))
            results = [self.call(value, given, line, state, name) for value, given in product(callees, calls)]
        return one_of(results[:MAX_ALTERNATIVES])

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
        if isinstance(value, Reader | Writer) and value not in self.spark.unnamed:
            self.steps.spend(size_of_state(state))
        return self.spark.method(value, name, given, line, state)

    def call(self, callee: Value, given: Arguments, line: int, state: State, name: str = "") -> Value:
        """Return the result of calling `callee` with the arguments `given`."""
        if isinstance(callee, Function):
            return self.inline(callee, given, state)
        if isinstance(callee, Class):
            return self._instantiate(callee, given, state)
        if isinstance(callee, Udf):
            return Column(marks_of(*given.positional) | {Mark(callee.kind, line)})
        if isinstance(callee, Library):
            return columns.library_call(callee, given, line)
        return self._builtin_call(callee, given, line, name)

    def _instantiate(self, made: Class, given: Arguments, state: State) -> Value:
        instance = Instance(made)
        self.steps.spend(len(made.node.body))
        fields = [
            s.target.id for s in made.node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        ]
        instance.attributes.update(zip(fields, given.positional, strict=False))
        instance.attributes.update({name: value for name, (value, _) in given.keywords.items()})
        constructor = made.attributes.get("__init__")
        if isinstance(constructor, Function):
            self.call(Function(constructor.node, constructor.scopes, instance), given, made.node.lineno, state)
        return instance

    def _builtin_call(self, callee: Value, given: Arguments, line: int, name: str) -> Value:
        if name == "dict":
            return Table({key: value for key, (value, _) in given.keywords.items()}, bool(given.positional))
        if name in CONVERSIONS:
            return CONVERSIONS[name]
        if name == "display":
            self.spark.display(given, line)
        marks = marks_of(*given.positional)
        return Column(marks) if marks else Unknown(callee.origin if isinstance(callee, Unknown) else "")


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr):
            yield part


def _expanded(value: Value, line: int) -> tuple[dict[str, tuple[Value, int]], bool]:
    if not isinstance(value, Table):
        return {}, True
    return {name: (each, line) for name, each in value.items.items()}, value.is_open
