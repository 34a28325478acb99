"""
Follow a module's code without running it, and collect imports, queries, triggers and settings.

Each query keeps its own trigger, so rules about real-time mode do not report micro-batch queries in the same module.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from spark_rtm.lint.problem import ExhaustedError, Problem, spend
from spark_rtm.lint.python.statements import Statements
from spark_rtm.lint.spark import values as v
from spark_rtm.lint.spark.scope import SESSION_NAMES, State, narrowed, truth
from spark_rtm.lint.spark.streams import Arguments

MAX_CALL_DEPTH = 8
ANNOTATED: dict[str, v.Value] = {"bool": v.Unknown(v.TRUTH_VALUE), "int": v.Number(), "float": v.Number()}
"""Initial values of parameters, by annotation."""
OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In}


@dataclass(frozen=True)
class Condition:
    """A condition in its positive form, and the names that it contains."""

    plain: ast.expr
    is_negated: bool
    text: str
    names: list[str]

    def key(self, state: State) -> str:
        """Return a string that is equal for conditions with the same outcome."""
        return " ".join([self.text, *[str(state.serials[name]) for name in self.names if name in state.serials]])


class Interpreter(Statements):
    """An abstract interpreter for one module's code."""

    def __init__(self) -> None:
        super().__init__()
        self.conditions: dict[ast.expr, Condition] = {}
        self.calls: list[ast.AST] = []

    def run(self, tree: ast.Module) -> None:
        """Follow the module's statements, then each function that the module does not call."""
        try:
            end = State()
            for statement in tree.body:
                self.block([statement], end)
                end.has_ended = False  # notebook cells run one by one, even after a cell that ends in `raise`
            self.spark.is_ordered = False
            for function, state in self.definitions:  # the loop body may extend the list
                if function.node not in self.visited:
                    self.spark.end_deletions()
                    # A function can use names that the module assigns after the function definition.
                    # Therefore, the function starts with the names at the end of the module.
                    scopes = [*end.scopes[:1], *state.scopes[1:]]
                    self.inline(function, None, replace(end, scopes=scopes, decided=state.decided, has_ended=False))
        except ExhaustedError:  # the queries and settings collected so far remain valid
            reason = "from this line on, the code has too many paths, calls or large values, so it was not checked"
            self._report(reason, "split the file")
        self.spark.finish()

    def block(self, statements: list[ast.stmt], state: State) -> None:
        """Follow statements in order."""
        for statement in statements:
            if state.has_ended:
                break
            spend(1 + len(state.decided) // 8)
            self.spark.statement = statement
            try:
                self.follow(statement, state)
            except RecursionError:
                self._report("the expression is nested too deeply, so it was not checked", "split the expression")

    def _report(self, reason: str, remedy: str) -> None:
        line = self.spark.statement.lineno if self.spark.statement else 1
        self.spark.module.unchecked.append(Problem(line, reason, remedy))

    def paths(self, test: ast.expr, state: State) -> list[tuple[bool, State]]:
        """Return a condition's possible outcomes, each with a copy of the state unless the outcome is certain."""
        condition = self._condition(test, state)
        known, value = state.decided.get(condition.key(state)), None
        if known is None:
            value = self.value(condition.plain, state)
            known = truth(value)
        if known is not None:
            return [(known is not condition.is_negated, state)]
        return [(outcome, self._assumed(condition, value, state, outcome)) for outcome in (True, False)]

    def _assumed(self, condition: Condition, value: v.Value | None, state: State, outcome: bool) -> State:  # noqa: FBT001
        plain, outcome = condition.plain, outcome is not condition.is_negated
        key, state = condition.key(state), self.copied(state)
        guards = [guard for guard, each in v.cases_of(value or v.Unknown()) if truth(each) in {None, outcome}]
        state.decided |= dict(frozenset.intersection(*guards)) if guards else {}
        if isinstance(plain, ast.Name):
            state.refine(plain.id, narrowed(state.look_up(plain.id), outcome))
        elif (
            isinstance(plain, ast.Compare)
            and isinstance(plain.left, ast.Name)
            and isinstance(plain.ops[0], ast.Eq | ast.Is)
        ):
            constant = self.value(plain.comparators[0], state)
            if isinstance(constant, v.Const):
                state.refine(plain.left.id, narrowed(state.look_up(plain.left.id), outcome, constant))
        if outcome and _compared_name(plain):  # the name cannot equal any other constant
            others = [each for each in self.conditions.values() if _compared_name(each.plain) == _compared_name(plain)]
            state.decided |= {each.key(state): False for each in others}
        state.decided[key] = outcome
        return state

    def _condition(self, test: ast.expr, state: State) -> Condition:
        if test not in self.conditions:
            plain, is_negated = _without_not(test)
            text = ast.unparse(plain)
            spend(len(text) // 8)
            names = {node.id for node in ast.walk(plain) if isinstance(node, ast.Name)}
            state.tested.update(names)
            self.conditions[test] = Condition(plain, is_negated, text, sorted(names))
        return self.conditions[test]

    def inline(self, function: v.Function, given: Arguments | None, state: State) -> v.Value:
        """Follow one of the module's functions and return its result. `given` is None if the arguments are unknown."""
        node = function.node
        self.visited.add(node)
        if node in self.calls or len(self.calls) >= MAX_CALL_DEPTH:
            return v.Unknown()
        self.calls.append(node)
        statement, scope = self.spark.statement, self._parameters(function, given, state)
        spend(1 + (len(state.decided) + len(state.serials)) // 8)
        inner = state.inner([*state.scopes[:1], *function.scopes, {}])
        for name, value in scope.items():
            inner.bind(name, value)
        self.returned.append([])
        try:
            if isinstance(node, ast.Lambda):
                return self.value(node.body, inner)
            self.block(node.body, inner)
            if not inner.has_ended:
                self.returned[-1].append(v.Const(None))
            # Drop the guards, because they refer to this function's names, which have different meanings in the caller.
            return v.one_of(each for value in self.returned[-1] for each in v.alternatives(value))
        finally:
            self.returned.pop()
            self.calls.pop()
            self.spark.statement = statement

    def _parameters(self, function: v.Function, given: Arguments | None, state: State) -> dict[str, v.Value]:
        arguments = function.node.args
        names = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args]]
        defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
        keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        defaults |= {argument.arg: default for argument, default in keyword_only if default}
        scope: dict[str, v.Value] = {}
        unknown = self._unknown_arguments(arguments)
        for name, value in unknown.items():
            scope[name] = value
            if name in defaults:
                default = self.value(defaults[name], state)
                is_exact = given is not None and not given.is_open
                scope[name] = default if is_exact else v.one_of([default, value])
        if given is None and isinstance(function.node, ast.FunctionDef):
            scope |= {name: value for name, value in self._parametrized(function.node, state) if name in scope}
        if function.bound is not None and names:
            scope[names.pop(0)] = function.bound
        if given is not None:
            scope.update(zip(names, given.positional, strict=False))
            scope.update({name: value for name, (value, _) in given.keywords.items() if name in scope})
            for name, value in unknown.items():
                if isinstance(value, v.Session) and isinstance(scope[name], v.Unknown):
                    scope[name] = value
            self._variadic(arguments, names, given, scope)
        return scope

    def _parametrized(self, node: ast.FunctionDef, state: State) -> Iterator[tuple[str, v.Value]]:
        """Yield the values that `pytest.mark.parametrize` passes to a parameter."""
        for decorator in node.decorator_list:
            match decorator:
                case ast.Call(ast.Attribute(attr="parametrize"), [ast.Constant(str(name)), ast.List() as values]):
                    yield name, v.one_of(v.elements(self.value(values, state)) or [v.Unknown()])

    @staticmethod
    def _variadic(arguments: ast.arguments, names: list[str], given: Arguments, scope: dict[str, v.Value]) -> None:
        if arguments.vararg:
            scope[arguments.vararg.arg] = v.Items(given.positional[len(names) :], given.is_open)
        if arguments.kwarg:
            rest = {name: entry for name, entry in given.keywords.items() if name not in scope}
            scope[arguments.kwarg.arg] = v.Table(rest, given.is_open)

    @staticmethod
    def _unknown_arguments(arguments: ast.arguments) -> dict[str, v.Value]:
        """Return each argument's initial value: a session if the name or annotation suggests a session."""
        values: dict[str, v.Value] = {}
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            annotation = ast.unparse(argument.annotation).strip("'\"") if argument.annotation else ""
            is_session = argument.arg in SESSION_NAMES or annotation.rpartition(".")[2] == "SparkSession"
            values[argument.arg] = v.Session() if is_session else ANNOTATED.get(annotation) or v.Unknown()
        return values


def _compared_name(test: ast.expr) -> str:
    """Return the name in a comparison such as `mode == "fast"`, or an empty string for other conditions."""
    match test:
        case ast.Compare(ast.Name(name), [ast.Eq()], [ast.Constant()]):
            return name
    return ""


def _without_not(test: ast.expr) -> tuple[ast.expr, bool]:
    """Return the positive form of a condition, and whether it was negated."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        plain, is_negated = _without_not(test.operand)
        return plain, not is_negated
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in OPPOSITES:
        positive = ast.Compare(test.left, [OPPOSITES[type(test.ops[0])]()], test.comparators)
        return ast.copy_location(positive, test), True
    return test, False
