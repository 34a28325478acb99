"""Update the values of names for each kind of statement, with a copy of the state in each branch."""

import ast
from abc import abstractmethod
from collections.abc import Callable

from spark_rtm.lint.problem import spend
from spark_rtm.lint.python.calls import Calls, name_of
from spark_rtm.lint.spark import values as v
from spark_rtm.lint.spark.columns import makes_udf
from spark_rtm.lint.spark.scope import SESSION_NAMES, State, size_of_state
from spark_rtm.lint.spark.streams import Writer

Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Statements(Calls):
    """An interpreter for statements, with one `_follow_*` method per syntax node type."""

    def __init__(self) -> None:
        super().__init__()
        self.definitions: list[tuple[v.Function, State]] = []
        self.visited: set[ast.AST] = set()
        self.returned: list[list[v.Value]] = [[]]
        """Values returned so far by each function on the call stack."""

    @abstractmethod
    def block(self, statements: list[ast.stmt], state: State) -> None:
        """Follow a block of statements."""

    def copied(self, state: State) -> State:
        """Copy a state, and charge steps for the copy."""
        spend(size_of_state(state))
        return state.copy()

    def follow(self, statement: ast.stmt, state: State) -> None:
        """Follow one statement."""
        method: Callable[[ast.stmt, State], None] | None
        method = getattr(self, f"_follow_{type(statement).__name__.lower()}", None)
        if method is not None:
            method(statement, state)
            return
        for part in ast.iter_child_nodes(statement):
            if isinstance(part, ast.expr):
                self.value(part, state)

    def _follow_return(self, statement: ast.Return, state: State) -> None:
        self.returned[-1].append(self.value(statement.value, state))
        state.has_ended = True

    def _follow_raise(self, _statement: ast.stmt, state: State) -> None:
        state.has_ended = True

    _follow_continue = _follow_break = _follow_raise

    def _follow_assign(self, statement: ast.Assign, state: State) -> None:
        value = self.value(statement.value, state)
        for target in statement.targets:
            self._bind(target, value, state)

    def _follow_annassign(self, statement: ast.AnnAssign, state: State) -> None:
        if statement.value is not None:
            self._bind(statement.target, self.value(statement.value, state), state)

    def _follow_augassign(self, statement: ast.AugAssign, state: State) -> None:
        combined = ast.BinOp(statement.target, statement.op, statement.value)
        ast.copy_location(combined, statement)
        self._bind(statement.target, self.value(combined, state), state)

    def _bind(self, target: ast.expr, value: v.Value, state: State) -> None:
        if isinstance(target, ast.Name):
            state.bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            known = value.values if isinstance(value, v.Items) and len(value.values) == len(target.elts) else ()
            for number, part in enumerate(target.elts):
                self._bind(part, known[number] if known else v.Unknown(), state)
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value, state)
            if isinstance(owner, v.Instance):
                before = owner.attributes.get(target.attr)
                is_next = before is None or (not state.decided and isinstance(value, Writer) and value.extends(before))
                owner.attributes[target.attr] = value if is_next or before is None else v.one_of([before, value])
        elif isinstance(target, ast.Subscript):
            self._bind_item(target, value, state)

    def _bind_item(self, target: ast.Subscript, value: v.Value, state: State) -> None:
        owner, key = self.value(target.value, state), self.value(target.slice, state)
        if isinstance(owner, v.Table) and isinstance(key, v.Const) and isinstance(target.value, ast.Name):
            spend(len(owner.items))
            items = {**owner.items, v.plain(key.value): (value, target.lineno)}
            state.bind(target.value.id, v.Table(items, owner.is_open))

    def _follow_if(self, statement: ast.If, state: State) -> None:
        paths = self.paths(statement.test, state)
        for outcome, path in paths:
            self.block(statement.body if outcome else statement.orelse, path)
        if len(paths) > 1:
            state.join([path for _, path in paths], state.decided)

    def _follow_match(self, statement: ast.Match, state: State) -> None:
        arms = [self.copied(state) for _ in statement.cases]
        for case, arm in zip(statement.cases, arms, strict=True):
            arm.decided[f"case {statement.lineno}"] = True
            self.block(case.body, arm)
        state.join([*arms, state], dict(state.decided))

    def _follow_for(self, statement: ast.For | ast.AsyncFor, state: State) -> None:
        known = v.elements(self.value(statement.iter, state))
        for value in (v.Unknown(),) if known is None else known:
            self._bind(statement.target, value, state)
            self._follow_loop(statement.body, state)
        self.block(statement.orelse, state)

    _follow_asyncfor = _follow_for

    def _follow_while(self, statement: ast.While, state: State) -> None:
        self.value(statement.test, state)
        self._follow_loop(statement.body, state)

    def _follow_loop(self, body: list[ast.stmt], state: State) -> None:
        self.block(body, state)
        state.has_ended = False  # the code after the loop also runs if there is no iteration

    def _follow_with(self, statement: ast.With | ast.AsyncWith, state: State) -> None:
        for item in statement.items:
            value = self.value(item.context_expr, state)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, value, state)
        self.block(statement.body, state)

    _follow_asyncwith = _follow_with

    def _follow_try(self, statement: ast.Try, state: State) -> None:
        handled = [self.copied(state) for _ in statement.handlers]
        for handler, path in zip(statement.handlers, handled, strict=True):
            self.block(handler.body, path)
        count, before = len(self.spark.module.imports), dict(state.decided)
        self.block([*statement.body, *statement.orelse], state)
        if any(_catches_imports(handler) for handler in statement.handlers):
            del self.spark.module.imports[count:]  # the code handles a failure of these imports
        if state.has_ended:
            state.join(handled, before)
        has_ended, state.has_ended = state.has_ended, False
        self.block(statement.finalbody, state)
        state.has_ended |= has_ended

    _follow_trystar = _follow_try

    def _follow_import(self, statement: ast.Import, state: State) -> None:
        for alias in statement.names:
            self.spark.module.imports.append((alias.name, statement.lineno))
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            state.bind(alias.asname or name, v.Library(name))

    def _follow_importfrom(self, statement: ast.ImportFrom, state: State) -> None:
        module = "." * statement.level + (statement.module or "")
        for alias in statement.names:
            self.spark.module.imports.append((f"{module}.{alias.name}", alias.lineno))
            if alias.name != "*":
                value = v.Session() if alias.name in SESSION_NAMES else v.Library(f"{module}.{alias.name}")
                state.bind(alias.asname or alias.name, value)

    def _follow_functiondef(self, statement: Definition, state: State) -> None:
        function = v.Function(statement, tuple(state.scopes[1:]))
        spend(sum(map(len, state.scopes[1:])) + len(state.decided))
        path = State([*state.scopes[:1], *map(dict, state.scopes[1:])], dict(state.decided))
        self.definitions.append((function, path))
        value: v.Value = function
        for decorator in statement.decorator_list:
            if makes_udf(self.value(decorator, state)):
                value = v.Udf()
                self.visited.add(statement)
        state.bind(statement.name, value)
        self._record_flow(statement, function, state)

    _follow_asyncfunctiondef = _follow_functiondef

    def _record_flow(self, statement: Definition, function: v.Function, state: State) -> None:
        for decorator in statement.decorator_list:
            if isinstance(decorator, ast.Call):
                for _, given in self.arguments(decorator, state):
                    if self.spark.is_real_time_flow(given):
                        if name_of(decorator.func) != "update_flow":
                            self.spark.module.flows.append((f"@{ast.unparse(decorator.func)}", decorator.lineno))
                        self.spark.flow(self.inline(function, None, state.copy()), given, decorator.lineno)

    def _follow_classdef(self, statement: ast.ClassDef, state: State) -> None:
        made = v.Class(statement)
        inner = state.inner([*state.scopes, {}])
        count = len(self.definitions)
        self.block(statement.body, inner)
        made.attributes.update(inner.scopes[-1])
        instance = v.Instance(made)
        body = set(statement.body)
        for number in range(count, len(self.definitions)):
            function, path = self.definitions[number]
            if function.node in body:
                self.definitions[number] = (v.Function(function.node, tuple(state.scopes[1:]), instance), path)
        for name, value in made.attributes.items():
            if isinstance(value, v.Function):
                made.attributes[name] = v.Function(value.node, tuple(state.scopes[1:]))
        state.bind(statement.name, made)


def _catches_imports(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {getattr(each, "attr", getattr(each, "id", "")) for each in caught}
    return handler.type is None or bool(names & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
