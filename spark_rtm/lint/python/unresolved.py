"""Find `realTime` constants that are not durations, in code that the interpreter did not follow."""

import ast
from collections.abc import Iterator

from spark_rtm.lint.spark.calls import CERTAIN_WRITER_METHODS, WRITER_NAME
from spark_rtm.lint.spark.module import Module
from spark_rtm.lint.spark.streams import TRIGGER_KEYWORDS, Arguments, Trigger
from spark_rtm.lint.spark.values import Const

NAME = "realTime"
MAKERS = {"dict", "partial", "functools.partial", "methodcaller", "operator.methodcaller", "SimpleNamespace"}
"""Functions that store keyword arguments for a later call."""


def unresolved_triggers(tree: ast.Module, module: Module, followed: set[ast.AST]) -> list[Trigger]:
    """
    Return triggers in unreached code, and triggers whose keyword and value occur in the same statement.

    Triggers of the second kind are returned only if a trigger call in the module has unknown arguments.
    """
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node not in followed]
    found = [_trigger(value) for call in calls if _is_trigger(call) for value in _constants(call)]
    resolved = {trigger.line for trigger in module.triggers if trigger.kinds}
    if any(_is_hidden(node, resolved) for node in ast.walk(tree) if isinstance(node, ast.Call)):
        known = {trigger.line_of(NAME) for trigger in module.triggers if NAME in trigger.arguments.keywords}
        found += [_trigger(value) for value in _beside_name(tree) if value.lineno not in known]
    return found


def _is_trigger(call: ast.Call) -> bool:
    """Return whether a call is a writer's `trigger`, judging by the keywords and the names in the method chain."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "trigger" or call.args:
        return False
    names = [getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(call.func.value)]
    is_writer = not CERTAIN_WRITER_METHODS.isdisjoint(names) or bool(names and WRITER_NAME.search(names[0]))
    return is_writer and {keyword.arg for keyword in call.keywords} <= set(TRIGGER_KEYWORDS)


def _constants(call: ast.Call) -> Iterator[ast.Constant]:
    for keyword in call.keywords:
        if keyword.arg == NAME and isinstance(keyword.value, ast.Constant) and not isinstance(keyword.value.value, str):
            yield keyword.value


def _trigger(value: ast.Constant) -> Trigger:
    return Trigger(Arguments(keywords={NAME: (Const(value.value), value.lineno)}), value.lineno, is_guess=True)


def _is_hidden(call: ast.Call, resolved: set[int]) -> bool:
    """Return whether a call passes unknown keywords to `trigger`, or refers to it as in `methodcaller("trigger")`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "trigger":
        return any(keyword.arg is None for keyword in call.keywords) and call.func.end_lineno not in resolved
    return bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value == "trigger"


def _beside_name(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the first boolean in each simple statement that also has `realTime` as a key, keyword or target."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return | ast.AugAssign):
            nodes = list(ast.walk(statement))
            values = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, bool)]
            yield from values[:1] if any(map(_names, nodes)) else ()


def _names(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        is_keyword = any(each.arg == NAME for each in node.keywords)
        maker = ast.unparse(node.func) if is_keyword else ""
        return "rigger" in maker or maker in MAKERS
    if isinstance(node, ast.Name):
        return node.id == NAME and isinstance(node.ctx, ast.Store)
    return isinstance(node, ast.Constant) and node.value == NAME
