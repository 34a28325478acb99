"""Evaluate Python expressions to abstract values, without running the code."""

import ast
from abc import ABC, abstractmethod

from spark_rtm.lint.problem import spend
from spark_rtm.lint.spark import columns
from spark_rtm.lint.spark import values as v
from spark_rtm.lint.spark.calls import SparkCalls
from spark_rtm.lint.spark.scope import FUNCTIONS, SESSION_NAMES, State, truth
from spark_rtm.lint.spark.streams import Arguments, Frame, size_of


class Evaluator(ABC):
    """An evaluator for expressions, with one `_value_*` method per syntax node type."""

    def __init__(self) -> None:
        self.spark = SparkCalls()

    @abstractmethod
    def paths(self, test: ast.expr, state: State) -> list[tuple[bool, State]]:
        """Return a condition's possible outcomes, each with a copy of the state unless the outcome is certain."""

    @abstractmethod
    def inline(self, function: v.Function, given: Arguments | None, state: State) -> v.Value:
        """Follow one of the module's functions and return its result. `given` is None if the arguments are unknown."""

    def value(self, node: ast.expr | None, state: State) -> v.Value:
        """Evaluate `node`, or return the constant None if `node` is None. Each entry in the value costs a step."""
        if node is None:
            return v.Const(None)
        spend()
        method = getattr(self, f"_value_{type(node).__name__.lower()}", self._value_of_parts)
        value: v.Value = v.under(method(node, state), state.decided)
        if isinstance(value, v.Column) and value.name in self.spark.stamps:  # `df.read_at`
            value = v.Column(value.marks | {v.Mark("clock", node.lineno)}, value.name)
        if not isinstance(node, ast.Name):
            spend(size_of(value))
        return value

    def _value_of_parts(self, node: ast.expr, state: State) -> v.Value:
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        marks = v.marks_of(*[self.value(part, state) for part in parts])
        return v.Column(marks) if marks else v.Unknown()

    def _value_constant(self, node: ast.Constant, _state: State) -> v.Value:
        return v.string(node.value) if isinstance(node.value, str) else v.Const(node.value)

    def _value_name(self, node: ast.Name, state: State) -> v.Value:
        return state.look_up(node.id)

    def _value_lambda(self, node: ast.Lambda, state: State) -> v.Value:
        return v.Function(node, tuple(state.scopes[1:]))

    def _value_joinedstr(self, node: ast.JoinedStr, state: State) -> v.Value:
        template = ""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                known = self.value(part.value, state)
                if not template and isinstance(known, v.Unknown) and known.origin.startswith("tempfile."):
                    return known
                template += v.plain(known.value) if isinstance(known, v.Const) and part.format_spec is None else "\0"
            else:
                template += text if isinstance(text := getattr(part, "value", ""), str) else ""
            if len(template) > v.MAX_TEXT:
                break
        return v.string(template)

    def _value_dict(self, node: ast.Dict, state: State) -> v.Value:
        items: v.Entries = {}
        is_open = False
        for key, part in zip(node.keys, node.values, strict=True):
            value = self.value(part, state)
            if key is None:
                is_open |= not isinstance(value, v.Table) or value.is_open
                items |= value.items if isinstance(value, v.Table) else {}
            elif isinstance(name := self.value(key, state), v.Const) and isinstance(name.value, str | bool):
                items[str(name.value)] = (value, key.lineno)
            else:
                is_open = True
        return v.Table(items, is_open)

    def _value_list(self, node: ast.List | ast.Tuple | ast.Set, state: State) -> v.Value:
        starred = any(isinstance(part, ast.Starred) for part in node.elts)
        return v.Items(
            tuple(self.value(part, state) for part in node.elts if not isinstance(part, ast.Starred)), starred
        )

    _value_tuple = _value_set = _value_list

    def _value_namedexpr(self, node: ast.NamedExpr, state: State) -> v.Value:
        value = self.value(node.value, state)
        state.bind(node.target.id, value)
        return value

    def _value_ifexp(self, node: ast.IfExp, state: State) -> v.Value:
        paths = self.paths(node.test, state)
        cases = [
            (path.guard(state.decided), self.value(node.body if outcome else node.orelse, path))
            for outcome, path in paths
        ]
        if len(paths) > 1:
            state.join([path for _, path in paths], state.decided)
        return v.chosen(cases)

    def _value_boolop(self, node: ast.BoolOp, state: State) -> v.Value:
        values: list[v.Value] = []
        for part in node.values:
            value = self.value(part, state)
            known = truth(value)
            ends = known is (not isinstance(node.op, ast.And))
            if known is None or ends:
                values.append(value)
            if ends:
                break
        return v.one_of(values or [value])

    def _value_binop(self, node: ast.BinOp, state: State) -> v.Value:
        left, right = self.value(node.left, state), self.value(node.right, state)
        marks = v.marks_of(left, right)
        if isinstance(node.op, ast.Sub) and any(mark.kind == "clock" for mark in marks):
            marks |= {v.Mark("clock-difference", node.lineno)}
        if marks:
            return v.Column(marks)
        return arithmetic(node.op, left, right)

    def _value_unaryop(self, node: ast.UnaryOp, state: State) -> v.Value:
        value = self.value(node.operand, state)
        if isinstance(node.op, ast.Not):
            return v.mapped(value, _negated)
        if isinstance(node.op, ast.USub) and isinstance(value, v.Const) and isinstance(value.value, int | float):
            return v.Const(-value.value)
        return value

    def _value_compare(self, node: ast.Compare, state: State) -> v.Value:
        left, right = self.value(node.left, state), self.value(node.comparators[0], state)
        if len(node.ops) == 1:
            known = v.mapped(left, lambda one: v.mapped(right, lambda other: compared(node.ops[0], one, other)))
            if not isinstance(known, v.Unknown):
                return known
        parts = self._value_of_parts(node, state)
        is_plain = isinstance(parts, v.Unknown) and not isinstance(left, v.Column) and not isinstance(right, v.Column)
        return v.Unknown(v.TRUTH_VALUE) if is_plain else parts

    def _value_subscript(self, node: ast.Subscript, state: State) -> v.Value:
        key = self.value(node.slice, state)
        return v.mapped(self.value(node.value, state), lambda value: item(value, key))

    def _value_attribute(self, node: ast.Attribute, state: State) -> v.Value:
        line = node.end_lineno or node.lineno
        receiver = self.value(node.value, state)
        return v.mapped(receiver, lambda value: self.attribute(value, node.attr, line))

    def attribute(self, value: v.Value, name: str, line: int) -> v.Value:
        """Return an attribute of `value`."""
        if isinstance(value, v.Instance | v.Class):
            inherited = value.of.attributes.get(name) if isinstance(value, v.Instance) else None
            attribute = value.attributes.get(name, inherited)
            if isinstance(attribute, v.Function) and isinstance(value, v.Instance):
                return v.Function(attribute.node, attribute.scopes, value)
            return attribute or (v.Session() if name in SESSION_NAMES else v.Unknown())
        if isinstance(value, v.Table) and name in value.items:  # `SimpleNamespace`
            return value.items[name][0]
        if isinstance(value, v.Const) and name == "value":
            return value  # of an enumeration member
        return columns.attribute(value, name, line)

    def _value_listcomp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, state: State) -> v.Value:
        """Evaluate a comprehension's element for each known item in the first loop. Further loops are unknown."""
        loop = node.generators[0]
        known = v.elements(self.value(loop.iter, state))
        is_open = known is None or bool(loop.ifs) or len(node.generators) > 1
        results = []
        for item_value in (v.Unknown(),) if known is None else known:
            inner = state.inner([*state.scopes, {}])
            spend(1 + len(state.decided))
            if isinstance(loop.target, ast.Name):
                inner.scopes[-1][loop.target.id] = item_value
            results.append(self.value(node.elt, inner))
        return v.Items(tuple(results), is_open)

    _value_generatorexp = _value_setcomp = _value_listcomp


def _negated(value: v.Value) -> v.Value:
    known = truth(value)
    return v.Unknown(v.TRUTH_VALUE) if known is None else v.Const(not known)


def arithmetic(operator: ast.operator, left: v.Value, right: v.Value) -> v.Value:
    """Return the result of an arithmetic operator."""
    if isinstance(operator, ast.Div) and isinstance(left, v.Unknown) and left.origin.startswith("tempfile."):
        return left
    numbers = [
        each.value for each in (left, right) if isinstance(each, v.Const) and isinstance(each.value, int | float)
    ]
    if len(numbers) > 1 or (isinstance(left, v.Number) and isinstance(right, v.Number | v.Const)):
        return v.Number()
    if any(
        isinstance(each, v.Const | v.Text) and isinstance(getattr(each, "value", ""), str) for each in (left, right)
    ):
        separator = {ast.Add: "", ast.Div: "/"}.get(type(operator))  # `/` joins path segments
        return (
            v.Text("\0") if separator is None else v.string(separator.join([v.template_of(left), v.template_of(right)]))
        )
    if isinstance(left, v.Table) and isinstance(right, v.Table):
        return v.Table(left.items | right.items, left.is_open or right.is_open)
    return v.Unknown()


def compared(operator: ast.cmpop, left: v.Value, right: v.Value) -> v.Value:
    """Return the outcome of a comparison."""
    known = None
    is_equality = isinstance(operator, ast.Eq | ast.Is | ast.NotEq | ast.IsNot)
    if is_equality and isinstance(right, v.Const):
        if isinstance(left, v.Const):
            known = (left == right) is isinstance(operator, ast.Eq | ast.Is)
        elif isinstance(left, v.Unknown) and right.value in left.excluded:
            known = isinstance(operator, ast.NotEq | ast.IsNot)
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(left, v.Const):
        if isinstance(right, v.Table) and not right.is_open:
            known = (v.plain(left.value) in right.items) is isinstance(operator, ast.In)
        if isinstance(right, v.Items) and not right.is_open and all(isinstance(each, v.Const) for each in right.values):
            known = (left in right.values) is isinstance(operator, ast.In)
    return v.Unknown() if known is None else v.Const(known)


def item(value: v.Value, key: v.Value) -> v.Value:
    """Return the value of `value[key]`."""
    if isinstance(value, v.Table):
        if isinstance(key, v.Const):
            return value.items.get(v.plain(key.value), (v.Unknown(), 0))[0]
        # An unknown key may select any entry. Keep only dictionaries, because a call may expand them into arguments.
        return v.one_of([each for each, _ in value.items.values() if isinstance(each, v.Table)][: v.MAX_ALTERNATIVES])
    if isinstance(value, v.Items) and isinstance(key, v.Const) and isinstance(key.value, int):
        return value.values[key.value] if -len(value.values) <= key.value < len(value.values) else v.Unknown()
    if isinstance(value, Frame):
        return v.Column(name=v.text_of(key))
    return v.Column() if isinstance(value, v.Library) and value.name.startswith(FUNCTIONS) else v.Unknown()
