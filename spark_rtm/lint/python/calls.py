"""Evaluate calls to functions and classes from the module, Python or a library."""

import ast
import re
from itertools import product

from spark_rtm.lint.problem import spend
from spark_rtm.lint.python.evaluate import Evaluator
from spark_rtm.lint.python.library import converted, deleted_folder, pure_call, table_method
from spark_rtm.lint.spark import columns
from spark_rtm.lint.spark import values as v
from spark_rtm.lint.spark.scope import State, size_of_state
from spark_rtm.lint.spark.streams import PARTIAL, Arguments, Partial, Source, Writer, size_of, without_first
from spark_rtm.lint.spark.values import both

UNKNOWN_TABLE = v.Table({}, is_open=True)
METHOD = re.compile(r"pyspark\.sql(?:\.\w+)*\.(?:DataFrame|DataStreamWriter)\.(\w+)")
"""Pattern for a method that is called through its class, with the object as an argument."""


class Calls(Evaluator):
    """The part of the interpreter that evaluates calls."""

    def __init__(self) -> None:
        super().__init__()
        self.followed: set[ast.AST] = set()
        """The calls that any execution path reaches."""

    def _value_call(self, node: ast.Call, state: State) -> v.Value:
        self.followed.add(node)
        line = node.func.end_lineno or node.lineno
        if isinstance(node.func, ast.Attribute):
            self.spark.receiver = name_of(node.func.value)
            receivers, name = self.value(node.func.value, state), node.func.attr
        else:
            receivers, name = self.value(node.func, state), getattr(node.func, "id", "")
        root = self.spark.receiver
        calls = self.arguments(node, state)
        self.spark.receiver = root
        if _is_jvm_trigger(node.func):
            return v.Table({"realTime": (calls[0][1].get("", 0) or v.Const("5 minutes"), line)})
        results: list[tuple[v.Guard, v.Value]] = []
        before = state.decided
        try:
            for (first, receiver), (second, given) in product(v.cases_of(receivers), calls):
                if (guard := both(first, second)) is None:
                    continue
                state.decided = {**before, **dict(guard)} if guard else before
                if isinstance(node.func, ast.Attribute):
                    results.append((guard, self.method(receiver, name, given, line, state)))
                else:
                    results.append((guard, self.call(receiver, given, line, state, name)))
        finally:
            state.decided = before
        return v.chosen(results)

    def method(self, value: v.Value, name: str, given: Arguments, line: int, state: State) -> v.Value:
        """Return the result of calling a method of `value`."""
        if isinstance(value, v.Instance | v.Class | v.Library):
            return self.call(self.attribute(value, name, line), given, line, state, name)
        if isinstance(value, v.Const) and isinstance(value.value, bool):
            return value  # `trigger(realTime=True .start()`, which lacks a bracket
        if isinstance(value, v.Table):
            return table_method(value, name, given, line)
        if name == "transform" and given.positional and isinstance(given.positional[0], v.Function | Partial):
            rest = Arguments((value, *given.positional[1:]), given.keywords, given.is_open)
            return self.call(given.positional[0], rest, line, state)
        if isinstance(value, Source | Writer):
            spend(size_of_state(state))
        return self.spark.method(value, name, given, line, state)

    def arguments(self, node: ast.Call, state: State) -> list[tuple[v.Guard, Arguments]]:
        """Return a call's possible argument lists with their guards, with expanded `*` and `**` arguments."""
        positional, is_open = self._positional(node, state)
        calls = [(v.ALWAYS, Arguments(positional, {}, is_open))]
        for keyword in node.keywords:
            value = self.value(keyword.value, state)
            if keyword.arg is not None:
                value = v.Table({keyword.arg: (value, keyword.value.lineno)})
            choices = [
                (each, table if isinstance(table, v.Table) else UNKNOWN_TABLE) for each, table in v.cases_of(value)
            ]
            calls = [
                (guard, Arguments(positional, given.keywords | table.items, given.is_open or table.is_open))
                for (first, given), (second, table) in product(calls, choices)
                if (guard := both(first, second)) is not None
            ][: v.MAX_ALTERNATIVES]
        for _, given in calls:
            spend(sum(map(size_of, given.values())))
        return [each for guard, given in calls for each in self._split(guard, given, state)]

    def _split(self, guard: v.Guard, given: Arguments, state: State) -> list[tuple[v.Guard, Arguments]]:
        """Return one argument list for each combination of guards that is possible on the path."""
        paths = [guard]
        for value in given.values():
            guards = [each for each, _ in v.cases_of(v.under(value, state.decided))]
            if any(guards):
                spend(len(paths) * sum(1 + len(each) // 4 for each in guards))
                found = [together for path in paths for each in guards if (together := both(path, each)) is not None]
                paths = list(dict.fromkeys(found))[: v.MAX_CASES]
        return [(path, given.under({**state.decided, **dict(path)}) if path else given) for path in paths]

    def _positional(self, node: ast.Call, state: State) -> tuple[tuple[v.Value, ...], bool]:
        positional: list[v.Value] = []
        is_open = False
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                value = self.value(argument.value, state)
                positional += value.values if isinstance(value, v.Items) else ()
                is_open |= not isinstance(value, v.Items) or value.is_open
            else:
                positional.append(self.value(argument, state))
        return tuple(positional), is_open

    def call(self, callee: v.Value, given: Arguments, line: int, state: State, name: str = "") -> v.Value:
        """Return the result of calling `callee` with arguments `given`."""
        if isinstance(callee, v.Function):
            return self.inline(callee, given, state)
        if isinstance(callee, v.Class):
            return self._instantiate(callee, given, state)
        if isinstance(callee, v.Udf):
            return v.Column(v.marks_of(*given.positional) | {v.Mark("udf", line)})
        if isinstance(callee, Partial):
            return self._complete(callee, given, line, state)
        if isinstance(callee, v.Library):
            known = self._library_call(callee.name, given, line, state)
            return self._column(callee, given, line) if known is None else known
        return self._builtin_call(callee, given, line, name, state)

    def _column(self, callee: v.Library, given: Arguments, line: int) -> v.Value:
        result = columns.library_call(callee, given, line)
        if not isinstance(result, v.Column) or not self.spark.stamps:
            return result
        texts = [text for value in given.values() for text in v.texts_of(value)]
        is_difference = callee.name.rpartition(".")[2] in columns.DIFFERENCES
        return v.Column(result.marks | self.spark.stamp_marks(texts, line, is_difference=is_difference), result.name)

    def _complete(self, callee: Partial, given: Arguments, line: int, state: State) -> v.Value:
        first = callee.given
        both = Arguments(
            (*first.positional, *given.positional), first.keywords | given.keywords, first.is_open or given.is_open
        )
        if callee.method:
            return self.method(callee.callee, callee.method, both, line, state)
        return self.call(callee.callee, both, line, state)

    def _library_call(self, name: str, given: Arguments, line: int, state: State) -> v.Value | None:
        """Evaluate a library function that combines functions, DataFrames or paths. Return None for other functions."""
        positional = given.positional
        if name == PARTIAL and positional:
            return Partial(positional[0], "", without_first(given))
        if name == "functools.reduce" and len(positional) >= 2:
            return self._reduced(positional, line, state)
        if (method := METHOD.fullmatch(name)) and positional:
            return self.method(positional[0], method[1], without_first(given), line, state)
        if path := deleted_folder(name, positional):
            self.spark.add_deletion(path, line, state)
        if name == "types.SimpleNamespace":
            return v.Table(given.keywords, given.is_open)
        if name.endswith(".create_sink"):
            self.spark.add_sink(given, line)
            return v.Unknown()
        return pure_call(name, positional, line) if positional else None

    def _reduced(self, given: tuple[v.Value, ...], line: int, state: State) -> v.Value:
        function, items = given[0], given[1]
        if not isinstance(items, v.Items) or len(items.values) > v.MAX_ALTERNATIVES:
            return v.Unknown()
        values = [*given[2:], *items.values]
        result = values[0] if values else v.Unknown()
        for value in values[1:]:
            result = self.call(function, Arguments((result, value)), line, state)
        return result

    def _instantiate(self, made: v.Class, given: Arguments, state: State) -> v.Value:
        instance = v.Instance(made)
        fields = [
            s.target.id for s in made.node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        ]
        instance.attributes.update(zip(fields, given.positional, strict=False))
        instance.attributes.update({name: value for name, (value, _) in given.keywords.items()})
        constructor = made.attributes.get("__init__")
        if isinstance(constructor, v.Function):
            self.call(v.Function(constructor.node, constructor.scopes, instance), given, made.node.lineno, state)
        return instance

    def _builtin_call(self, callee: v.Value, given: Arguments, line: int, name: str, state: State) -> v.Value:
        first, second = given.get("", 0), v.text_of(given.get("", 1))
        if name == "dict":
            entries = v.entries_of(first, line)
            return v.Table({**entries, **given.keywords}, bool(given.positional) and not entries)
        if name == "getattr" and first is not None and second:
            return self.attribute(first, second, line)
        if name == "display":
            self.spark.display(given, line)
        if name in {"exec", "eval"} and (code := v.text_of(first)):
            self._run(code, line, state)
        if first is not None and (result := converted(name, first)) is not None:
            return result
        marks = v.marks_of(*given.positional)
        return v.Column(marks) if marks else v.Unknown(callee.origin if isinstance(callee, v.Unknown) else "")

    def _run(self, code: str, line: int, state: State) -> None:
        """Follow the expressions in code that is given as a string."""
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for node in ast.walk(tree):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = line  # type: ignore[attr-defined]  # statements and expressions
        for statement in tree.body:
            if isinstance(statement, ast.Expr | ast.Assign):
                self.value(statement.value, state)


def name_of(node: ast.expr) -> str:
    """Return the name of a variable or attribute, or an empty string."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_jvm_trigger(node: ast.expr) -> bool:
    """Return whether a function is a real-time trigger in the JVM, such as `jvm...RealTimeTrigger.apply`."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    is_trigger = names[:2] in (["apply", "RealTimeTrigger"], ["RealTime", "Trigger"])
    return is_trigger and not {"_jvm", "jvm"}.isdisjoint([*names, name_of(node)])
