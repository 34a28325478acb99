"""
What each kind of statement does to a path.

What arrives is a statement and the path on which it stands; what leaves are the paths after it.
Real-time mode demands that branches, loops and definitions keep a trigger with the query it belongs to.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from scripts.lint.spark.columns import is_udf
from scripts.lint.spark.scope import State
from scripts.lint.spark.streams import Value
from scripts.lint.spark.values import Class, Const, Function, Instance, Items, Library, Table, Udf, Unknown, one_of

if TYPE_CHECKING:
    from scripts.lint.python.interpreter import Interpreter

LONGEST_LOOP = 8
Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Statements:
    """Follows single statements for an interpreter, which follows blocks."""

    def __init__(self, interpreter: Interpreter) -> None:
        """Keep the interpreter."""
        self.interpreter = interpreter

    def follow(self, statement: ast.stmt, state: State) -> list[State]:
        """Follow one statement and return the paths after it."""
        method: Callable[[ast.stmt, State], list[State] | None] | None
        method = getattr(self, f"_{type(statement).__name__.lower()}", None)
        if method is None:
            for part in ast.iter_child_nodes(statement):
                if isinstance(part, ast.expr):
                    self.interpreter.evaluator.value(part, state)
            return [state]
        after = method(statement, state)
        return [state] if after is None else after

    def _expr(self, statement: ast.Expr, state: State) -> None:
        self.interpreter.evaluator.value(statement.value, state)

    def _return(self, statement: ast.Return, state: State) -> None:
        state.returned = [self.interpreter.evaluator.value(statement.value, state)]
        state.has_ended = True

    def _raise(self, _statement: ast.Raise, _state: State) -> list[State]:
        return []

    def _assign(self, statement: ast.Assign, state: State) -> None:
        value = self.interpreter.evaluator.value(statement.value, state)
        for target in statement.targets:
            self._bind(target, value, state)

    def _annassign(self, statement: ast.AnnAssign, state: State) -> None:
        if statement.value is not None:
            self._bind(statement.target, self.interpreter.evaluator.value(statement.value, state), state)

    def _augassign(self, statement: ast.AugAssign, state: State) -> None:
        combined = ast.BinOp(statement.target, statement.op, statement.value)
        ast.copy_location(combined, statement)
        self._bind(statement.target, self.interpreter.evaluator.value(combined, state), state)

    def _bind(self, target: ast.expr, value: Value, state: State) -> None:
        if isinstance(target, ast.Name):
            state.bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            known = value.values if isinstance(value, Items) and len(value.values) == len(target.elts) else ()
            for number, part in enumerate(target.elts):
                self._bind(part, known[number] if known else Unknown(), state)
        elif isinstance(target, ast.Attribute):
            owner = self.interpreter.evaluator.value(target.value, state)
            if isinstance(owner, Instance):
                before = owner.attributes.get(target.attr)
                owner.attributes[target.attr] = value if before is None else one_of([before, value])
        elif isinstance(target, ast.Subscript):
            self._bind_item(target, value, state)

    def _bind_item(self, target: ast.Subscript, value: Value, state: State) -> None:
        owner, key = (
            self.interpreter.evaluator.value(target.value, state),
            self.interpreter.evaluator.value(target.slice, state),
        )
        if isinstance(owner, Table) and isinstance(key, Const) and isinstance(target.value, ast.Name):
            state.bind(target.value.id, Table({**owner.items, str(key.value): value}, owner.is_open))

    def _if(self, statement: ast.If, state: State) -> list[State]:
        known = self.interpreter.decision(statement.test, state)
        if known is not None:
            return self.interpreter.block(statement.body if known else statement.orelse, [state])
        yes, no = (
            self.interpreter.decide(statement.test, state, True),
            self.interpreter.decide(statement.test, state, False),
        )
        return self.interpreter.block(statement.body, [yes]) + self.interpreter.block(statement.orelse, [no])

    def _match(self, statement: ast.Match, state: State) -> list[State]:
        subject, after = statement.subject, []
        for case in statement.cases:
            path = state.copy()
            if isinstance(case.pattern, ast.MatchValue) and isinstance(subject, ast.Name):
                path.bind(subject.id, self.interpreter.evaluator.value(case.pattern.value, path))
            after += self.interpreter.block(case.body, [path])
        return [*after, state]

    def _for(self, statement: ast.For | ast.AsyncFor, state: State) -> list[State]:
        several = self.interpreter.evaluator.value(statement.iter, state)
        is_known = isinstance(several, Items) and not several.is_open and len(several.values) <= LONGEST_LOOP
        states = [state]
        for value in several.values if is_known and isinstance(several, Items) else (Unknown(),):
            for each in states:
                if not each.has_ended:
                    self._bind(statement.target, value, each)
            states = _after_loop(self.interpreter.block(statement.body, states))
        return self.interpreter.block(statement.orelse, states)

    _asyncfor = _for

    def _while(self, statement: ast.While, state: State) -> list[State]:
        self.interpreter.evaluator.value(statement.test, state)
        return _after_loop(self.interpreter.block(statement.body, [state]))

    def _continue(self, _statement: ast.Continue | ast.Break, state: State) -> None:
        state.has_ended = state.leaves_loop = True

    _break = _continue

    def _with(self, statement: ast.With | ast.AsyncWith, state: State) -> list[State]:
        for item in statement.items:
            value = self.interpreter.evaluator.value(item.context_expr, state)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, value, state)
        return self.interpreter.block(statement.body, [state])

    _asyncwith = _with

    def _try(self, statement: ast.Try, state: State) -> list[State]:
        for handler in statement.handlers:
            self.interpreter.block(handler.body, [state.copy()])
        after = self.interpreter.block([*statement.body, *statement.orelse], [state])
        return self.interpreter.block(statement.finalbody, after or [state.copy()])

    _trystar = _try

    def _import(self, statement: ast.Import, state: State) -> None:
        for alias in statement.names:
            self.interpreter.imports.append((alias.name, statement.lineno))
            state.bind(
                alias.asname or alias.name.partition(".")[0],
                Library(alias.name if alias.asname else alias.name.partition(".")[0]),
            )

    def _importfrom(self, statement: ast.ImportFrom, state: State) -> None:
        module = "." * statement.level + (statement.module or "")
        for alias in statement.names:
            self.interpreter.imports.append((f"{module}.{alias.name}", alias.lineno))
            if alias.name != "*":
                state.bind(alias.asname or alias.name, Library(f"{module}.{alias.name}"))

    def _functiondef(self, statement: Definition, state: State) -> None:
        function = Function(statement, tuple(state.scopes[1:]))
        self.interpreter.definitions.append((function, state.copy()))
        value: Value = function
        for decorator in statement.decorator_list:
            made = self.interpreter.evaluator.value(decorator, state)
            kind = is_udf(made)
            if kind:
                value = Udf(kind)
                self.interpreter.visited.add(statement)
        state.bind(statement.name, value)
        self._note_flow(statement, function, state)

    _asyncfunctiondef = _functiondef

    def _note_flow(self, statement: Definition, function: Function, state: State) -> None:
        """Note a pipeline's flow whose decorator asks for real-time mode."""
        for decorator in statement.decorator_list:
            if isinstance(decorator, ast.Call):
                for given in self.interpreter.evaluator.arguments(decorator, state):
                    if self.interpreter.spark.is_real_time_flow(given):
                        self.interpreter.spark.flow(
                            self.interpreter.inline(function, None, state.copy()), given, decorator.lineno
                        )

    def _classdef(self, statement: ast.ClassDef, state: State) -> None:
        made = Class(statement)
        inner = State([*state.scopes, {}], dict(state.decided))
        count = len(self.interpreter.definitions)
        self.interpreter.block(statement.body, [inner])
        made.attributes.update(inner.scopes[-1])
        instance = Instance(made)
        for number in range(count, len(self.interpreter.definitions)):
            function, path = self.interpreter.definitions[number]
            if function.node in statement.body and not _is_static(function.node):
                self.interpreter.definitions[number] = (
                    Function(function.node, tuple(state.scopes[1:]), instance),
                    path,
                )
        for name, value in made.attributes.items():
            if isinstance(value, Function):
                made.attributes[name] = Function(value.node, tuple(state.scopes[1:]))
        state.bind(statement.name, made)


def _after_loop(states: list[State]) -> list[State]:
    for state in states:
        if state.leaves_loop:
            state.has_ended = state.leaves_loop = False
    return states


def _is_static(node: ast.AST) -> bool:
    names = [ast.unparse(each) for each in getattr(node, "decorator_list", [])]
    return "staticmethod" in names
