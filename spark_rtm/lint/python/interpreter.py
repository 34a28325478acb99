"""
Follow all execution paths of a module without running it, and collect imports, queries, triggers and settings.

Each query keeps its own trigger, so rules about real-time mode do not report micro-batch queries in the same module.
"""

from __future__ import annotations

import ast

from spark_rtm.lint.python.statements import Definition, Statements
from spark_rtm.lint.rules.budget import ExhaustedError, Steps
from spark_rtm.lint.rules.rule import RuleProblem
from spark_rtm.lint.rules.unchecked import unchecked
from spark_rtm.lint.spark.scope import SESSION_NAMES, State, merged, narrowed, narrowed_by, size_of_state, truth
from spark_rtm.lint.spark.streams import Arguments
from spark_rtm.lint.spark.values import (
    Const,
    Function,
    Items,
    OneOf,
    Session,
    Table,
    Unknown,
    Value,
    alternatives,
    one_of,
)

MAX_CALL_DEPTH = 8
MAX_FORKS = 3
OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In}


class Interpreter(Statements):
    """Follows the execution paths of one module."""

    def __init__(self, steps: Steps, *, has_choices: bool) -> None:
        super().__init__(steps)
        self.has_choices = has_choices
        """Whether the code may contain conditional expressions."""
        self.choices: dict[ast.stmt, list[ast.expr]] = {}
        """The conditions of the conditional expressions in each simple statement."""
        self.calls: list[ast.AST] = []
        self.unchecked: list[RuleProblem] = []

    def run(self, tree: ast.Module) -> None:
        """Follow the statements of the module, and then every function that the module does not call."""
        try:
            states = self.block(tree.body, [State()])
            self.spark.is_ordered = False
            for function, state in self.definitions:  # the loop body may extend the list
                if function.node not in self.visited:
                    self.spark.end_deletions()
                    # A function can use names that the module assigns after the function definition.
                    # The function therefore starts with the names at the end of a path through the module.
                    for end in states[:4] or [state]:
                        self.inline(function, None, State([*end.scopes[:1], *state.scopes[1:]], dict(state.decided)))
        except ExhaustedError:  # the queries and settings collected so far remain valid
            reason = "from this line on, the code has too many paths, calls or large values, so it was not checked"
            self._report(reason, "split the file")
        self.spark.finish()

    def block(self, statements: list[ast.stmt], states: list[State]) -> list[State]:
        """Follow a block of statements on each path and return the resulting paths."""
        for statement in statements:
            going = [state for state in states if not state.has_ended]
            if not going:
                break
            after = [state for state in states if state.has_ended]
            for state in going:
                self.steps.spend(size_of_state(state) if len(states) > 1 else 1 + len(state.decided) // 8)
                after += self._followed(statement, state)
            states = merged(after)
        return states

    def decision(self, test: ast.expr, state: State) -> bool | None:
        """Return the outcome of a condition on this path, or None if the outcome is unknown."""
        plain, is_negated = _without_not(test)
        known = state.decided.get(self._unparsed(plain))
        if known is None:
            known = truth(self.value(plain, state))
        return known if known is None else known is not is_negated

    def decide(self, test: ast.expr, state: State, outcome: bool) -> State:  # noqa: FBT001
        """Return a copy of the path that assumes the given outcome of a condition."""
        plain, is_negated = _without_not(test)
        outcome = outcome is not is_negated
        if isinstance(plain, ast.BoolOp) and outcome is isinstance(plain.op, ast.And):
            for part in plain.values:  # a true `and` or a false `or` determines the outcome of all its operands
                state = self.decide(part, state, outcome)
        state = self.copied(state)
        if isinstance(plain, ast.Name):
            state.bind(plain.id, narrowed(state.look_up(plain.id), outcome))
        elif (
            isinstance(plain, ast.Compare)
            and isinstance(plain.left, ast.Name)
            and isinstance(plain.ops[0], ast.Eq | ast.Is)
        ):
            constant = self.value(plain.comparators[0], state)
            if isinstance(constant, Const):
                state.bind(plain.left.id, narrowed_by(state.look_up(plain.left.id), constant, equal=outcome))
        state.decided[self._unparsed(plain)] = outcome
        return state

    def _unparsed(self, test: ast.expr) -> str:
        text = ast.unparse(test)
        self.steps.spend(len(text) // 8)
        return text

    def inline(self, function: Function, given: Arguments | None, state: State) -> Value:
        """Follow a function in the module and return its result; `given` is None if the arguments are unknown."""
        node = function.node
        self.visited.add(node)
        if node in self.calls or len(self.calls) >= MAX_CALL_DEPTH:
            return Unknown()
        self.calls.append(node)
        statement, scope = self.spark.statement, self._parameters(function, given, state)
        self.steps.spend(len(state.decided) * len(scope))
        decided = {test: outcome for test, outcome in state.decided.items() if not any(name in test for name in scope)}
        inner = State([*state.scopes[:1], *function.scopes, scope], decided)
        try:
            if isinstance(node, ast.Lambda):
                return self.value(node.body, inner)
            paths = self.block(node.body, [inner])
            return one_of([value for path in paths for value in (path.returned or [Const(None)])])
        finally:
            self.calls.pop()
            self.spark.statement = statement

    def _parameters(self, function: Function, given: Arguments | None, state: State) -> dict[str, Value]:
        arguments = function.node.args
        names = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args]]
        defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
        keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        defaults |= {argument.arg: default for argument, default in keyword_only if default}
        scope: dict[str, Value] = {}
        unknown = self._unknown_arguments(arguments)
        for name, value in unknown.items():
            scope[name] = value
            if name in defaults:
                default = self.value(defaults[name], state)
                is_exact = given is not None and not given.is_open
                scope[name] = default if is_exact else OneOf((*alternatives(default), value))
        if function.bound is not None and names:
            scope[names.pop(0)] = function.bound
        if given is not None:
            scope.update(zip(names, given.positional, strict=False))
            scope.update({name: value for name, (value, _) in given.keywords.items() if name in scope})
            for name, value in unknown.items():
                if isinstance(value, Session) and isinstance(scope[name], Unknown):
                    scope[name] = value
            self._variadic(arguments, names, given, scope)
        return scope

    @staticmethod
    def _unknown_arguments(arguments: ast.arguments) -> dict[str, Value]:
        """Return the value of each argument before a call: a session if its name or annotation identifies one."""
        values: dict[str, Value] = {}
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            annotation = ast.unparse(argument.annotation).strip("'\"") if argument.annotation else ""
            is_session = argument.arg in SESSION_NAMES or annotation.rpartition(".")[2] == "SparkSession"
            values[argument.arg] = Session() if is_session else Unknown()
        return values

    @staticmethod
    def _variadic(arguments: ast.arguments, names: list[str], given: Arguments, scope: dict[str, Value]) -> None:
        if arguments.vararg:
            scope[arguments.vararg.arg] = Items(given.positional[len(names) :], given.is_open)
        if arguments.kwarg:
            rest = {name: entry for name, entry in given.keywords.items() if name not in scope}
            items, lines = ({name: entry[part] for name, entry in rest.items()} for part in (0, 1))
            scope[arguments.kwarg.arg] = Table(items, given.is_open, lines)  # type: ignore[arg-type]  # an entry is a value and a line

    def _followed(self, statement: ast.stmt, state: State) -> list[State]:
        self.spark.statement = statement
        after = []
        try:
            for path in self._forked(statement, state):
                self.spark.statement = statement
                self.spark.unnamed.clear()
                after += self.follow(statement, path)
        except RecursionError:
            self._report("the expression is nested too deeply, so it was not checked", "split the expression")
            return [state]
        return after

    def _report(self, reason: str, remedy: str) -> None:
        self.unchecked.append(unchecked(reason, remedy, self.spark.statement.lineno if self.spark.statement else 1))

    def _forked(self, statement: ast.stmt, state: State) -> list[State]:
        """Split a path at each conditional expression of a simple statement whose outcome is unknown."""
        paths = [state]
        if not self.has_choices or isinstance(
            statement, ast.If | ast.For | ast.While | ast.With | ast.Try | ast.ClassDef | Definition
        ):
            return paths
        if statement not in self.choices:
            self.choices[statement] = [node.test for node in ast.walk(statement) if isinstance(node, ast.IfExp)]
        for test in self.choices[statement][:MAX_FORKS]:
            paths = [each for path in paths for each in self._both(test, path)]
        return paths

    def _both(self, test: ast.expr, state: State) -> list[State]:
        if self.decision(test, state) is not None:
            return [state]
        return [self.decide(test, state, True), self.decide(test, state, False)]


def _without_not(test: ast.expr) -> tuple[ast.expr, bool]:
    """Return a condition in its positive form, and whether the condition was negated."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        plain, is_negated = _without_not(test.operand)
        return plain, not is_negated
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in OPPOSITES:
        positive = ast.Compare(test.left, [OPPOSITES[type(test.ops[0])]()], test.comparators)
        return ast.copy_location(positive, test), True
    return test, False
