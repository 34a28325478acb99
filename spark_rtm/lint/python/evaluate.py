"""Evaluate expressions to abstract values, without running the code."""

import ast
from abc import ABC, abstractmethod

from spark_rtm.lint.problem import spend
from spark_rtm.lint.spark import columns
from spark_rtm.lint.spark.calls import SparkCalls
from spark_rtm.lint.spark.scope import FUNCTIONS, SESSION_NAMES, State, truth
from spark_rtm.lint.spark.streams import Arguments, Frame
from spark_rtm.lint.spark.values import (
    MAX_ALTERNATIVES,
    MAX_TEXT,
    TRUTH_VALUE,
    Class,
    Column,
    Const,
    Entries,
    Function,
    Instance,
    Items,
    Library,
    Mark,
    Number,
    Session,
    Table,
    Text,
    Unknown,
    Value,
    chosen,
    elements,
    mapped,
    marks_of,
    one_of,
    plain,
    string,
    template_of,
    text_of,
    under,
)


class Evaluator(ABC):
    """Evaluates expressions, with one `_value_*` method per kind of syntax node."""

    def __init__(self) -> None:
        self.spark = SparkCalls()

    @abstractmethod
    def paths(self, test: ast.expr, state: State) -> list[tuple[bool, State]]:
        """Return the possible outcomes of a condition, each with a copy of the state unless the outcome is certain."""

    @abstractmethod
    def inline(self, function: Function, given: Arguments | None, state: State) -> Value:
        """Follow a function of the module and return its result. `given` is None if the arguments are unknown."""

    def value(self, node: ast.expr | None, state: State) -> Value:
        """Return the value of `node`, or the constant None if `node` is None."""
        if node is None:
            return Const(None)
        spend()
        method = getattr(self, f"_value_{type(node).__name__.lower()}", self._value_of_parts)
        value: Value = under(method(node, state), state.decided)
        if isinstance(value, Column) and value.name in self.spark.stamps:  # `df.read_at`
            value = Column(value.marks | {Mark("clock", node.lineno)}, value.name)
        return value

    def _value_of_parts(self, node: ast.expr, state: State) -> Value:
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        marks = marks_of(*[self.value(part, state) for part in parts])
        return Column(marks) if marks else Unknown()

    def _value_constant(self, node: ast.Constant, _state: State) -> Value:
        return string(node.value) if isinstance(node.value, str) else Const(node.value)

    def _value_name(self, node: ast.Name, state: State) -> Value:
        return state.look_up(node.id)

    def _value_lambda(self, node: ast.Lambda, state: State) -> Value:
        return Function(node, tuple(state.scopes[1:]))

    def _value_joinedstr(self, node: ast.JoinedStr, state: State) -> Value:
        template = ""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                known = self.value(part.value, state)
                if not template and isinstance(known, Unknown) and known.origin.startswith("tempfile."):
                    return known
                template += plain(known.value) if isinstance(known, Const) and part.format_spec is None else "\0"
            else:
                template += text if isinstance(text := getattr(part, "value", ""), str) else ""
            if len(template) > MAX_TEXT:
                break
        return string(template)

    def _value_dict(self, node: ast.Dict, state: State) -> Value:
        items: Entries = {}
        is_open = False
        for key, part in zip(node.keys, node.values, strict=True):
            value = self.value(part, state)
            if key is None:
                is_open |= not isinstance(value, Table) or value.is_open
                items |= value.items if isinstance(value, Table) else {}
            elif isinstance(name := self.value(key, state), Const) and isinstance(name.value, str | bool):
                items[str(name.value)] = (value, key.lineno)
            else:
                is_open = True
        return Table(items, is_open)

    def _value_list(self, node: ast.List | ast.Tuple | ast.Set, state: State) -> Value:
        starred = any(isinstance(part, ast.Starred) for part in node.elts)
        return Items(tuple(self.value(part, state) for part in node.elts if not isinstance(part, ast.Starred)), starred)

    _value_tuple = _value_set = _value_list

    def _value_namedexpr(self, node: ast.NamedExpr, state: State) -> Value:
        value = self.value(node.value, state)
        state.bind(node.target.id, value)
        return value

    def _value_ifexp(self, node: ast.IfExp, state: State) -> Value:
        paths = self.paths(node.test, state)
        cases = [
            (path.guard(state.decided), self.value(node.body if outcome else node.orelse, path))
            for outcome, path in paths
        ]
        if len(paths) > 1:
            state.join([path for _, path in paths], state.decided)
        return chosen(cases)

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
            return mapped(value, _negated)
        if isinstance(node.op, ast.USub) and isinstance(value, Const) and isinstance(value.value, int | float):
            return Const(-value.value)
        return value

    def _value_compare(self, node: ast.Compare, state: State) -> Value:
        left, right = self.value(node.left, state), self.value(node.comparators[0], state)
        if len(node.ops) == 1:
            known = mapped(left, lambda one: mapped(right, lambda other: compared(node.ops[0], one, other)))
            if not isinstance(known, Unknown):
                return known
        parts = self._value_of_parts(node, state)
        is_plain = isinstance(parts, Unknown) and not isinstance(left, Column) and not isinstance(right, Column)
        return Unknown(TRUTH_VALUE) if is_plain else parts

    def _value_subscript(self, node: ast.Subscript, state: State) -> Value:
        key = self.value(node.slice, state)
        return mapped(self.value(node.value, state), lambda value: item(value, key))

    def _value_attribute(self, node: ast.Attribute, state: State) -> Value:
        line = node.end_lineno or node.lineno
        receiver = self.value(node.value, state)
        return mapped(receiver, lambda value: self.attribute(value, node.attr, line))

    def attribute(self, value: Value, name: str, line: int) -> Value:
        """Return an attribute of `value`."""
        if isinstance(value, Instance | Class):
            inherited = value.of.attributes.get(name) if isinstance(value, Instance) else None
            attribute = value.attributes.get(name, inherited)
            if isinstance(attribute, Function) and isinstance(value, Instance):
                return Function(attribute.node, attribute.scopes, value)
            return attribute or (Session() if name in SESSION_NAMES else Unknown())
        if isinstance(value, Const) and name == "value":
            return value  # of a member of an enumeration
        return columns.attribute(value, name, line)

    def _value_listcomp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, state: State) -> Value:
        """Evaluate the element for each known item of the first loop. Further loops of a comprehension are unknown."""
        loop = node.generators[0]
        known = elements(self.value(loop.iter, state))
        is_open = known is None or bool(loop.ifs) or len(node.generators) > 1
        results = []
        for item_value in (Unknown(),) if known is None else known:
            inner = state.inner([*state.scopes, {}])
            if isinstance(loop.target, ast.Name):
                inner.scopes[-1][loop.target.id] = item_value
            results.append(self.value(node.elt, inner))
        return Items(tuple(results), is_open)

    _value_generatorexp = _value_setcomp = _value_listcomp


def _negated(value: Value) -> Value:
    known = truth(value)
    return Unknown(TRUTH_VALUE) if known is None else Const(not known)


def arithmetic(operator: ast.operator, left: Value, right: Value) -> Value:
    """Return the result of an arithmetic operator."""
    if isinstance(operator, ast.Div) and isinstance(left, Unknown) and left.origin.startswith("tempfile."):
        return left
    numbers = [each.value for each in (left, right) if isinstance(each, Const) and isinstance(each.value, int | float)]
    if len(numbers) > 1 or (isinstance(left, Number) and isinstance(right, Number | Const)):
        return Number()
    if any(isinstance(each, Const | Text) and isinstance(getattr(each, "value", ""), str) for each in (left, right)):
        separator = {ast.Add: "", ast.Div: "/"}.get(type(operator))  # `/` joins the parts of a path
        return Text("\0") if separator is None else string(separator.join([template_of(left), template_of(right)]))
    if isinstance(left, Table) and isinstance(right, Table):
        return Table(left.items | right.items, left.is_open or right.is_open)
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
            return value.items.get(plain(key.value), (Unknown(), 0))[0]
        # An unknown key may select any entry. Keep only dictionaries, because a call may expand one into its arguments.
        return one_of([each for each, _ in value.items.values() if isinstance(each, Table)][:MAX_ALTERNATIVES])
    if isinstance(value, Items) and isinstance(key, Const) and isinstance(key.value, int):
        return value.values[key.value] if -len(value.values) <= key.value < len(value.values) else Unknown()
    if isinstance(value, Frame):
        return Column(name=text_of(key))
    return Column() if isinstance(value, Library) and value.name.startswith(FUNCTIONS) else Unknown()
