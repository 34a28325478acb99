"""Find code that a test expects to fail, so that the linter does not report it."""

import ast
import re
from collections.abc import Iterator

EXPECTATIONS = {"raises", "assertRaises", "assertRaisesRegex", "suppress"}
MARK = re.compile(r"raises|xfail|assertRaises|suppress|\.exception\(|intercept|assertThrows|[Tt]hrownBy|expected")
"""Words in code that expects a failure, also in Scala and Java. Code without them needs no search."""
MAX_ROUNDS = 3


def expected_failures(tree: ast.Module, code: str) -> set[int]:
    """Return the lines of the statements that build an expected failure, even outside `with pytest.raises(...)`."""
    if not MARK.search(code):
        return set()
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    lines: set[int] = set()
    for scope in [tree, *functions.values()]:
        expectations = list(_expectations(scope))
        names = {name for part in expectations for name in _names(part)}
        for part in expectations:
            lines |= _lines(part)
        built, used = _assignments(scope, names)
        lines |= built
        for name in (names | used) & functions.keys():
            lines |= _lines(functions[name])
    for function in functions.values():
        if any("xfail" in ast.unparse(decorator) for decorator in function.decorator_list):
            lines |= _lines(function)
    return lines


def _expectations(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the bodies of `with raises(...)`, the functions of `raises(error, function)`, and asserted exceptions."""
    for node in _nodes(scope):
        if isinstance(node, ast.With | ast.AsyncWith) and any(
            _called(each.context_expr) in EXPECTATIONS for each in node.items
        ):
            yield from node.body
        elif isinstance(node, ast.Call) and _called(node) in EXPECTATIONS and len(node.args) > 1:
            yield from node.args[1:]
        elif isinstance(node, ast.Assert) and any(_called(each) == "exception" for each in ast.walk(node.test)):
            yield node.test


def _nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module or a function, except nodes of nested functions."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)


def _called(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _lines(node: ast.AST) -> set[int]:
    first = getattr(node, "lineno", 1)
    return set(range(first, (getattr(node, "end_lineno", first) or first) + 1))


def _assignments(scope: ast.AST, names: set[str]) -> tuple[set[int], set[str]]:
    """Return the lines of all assignments that the names depend on, and the names of the functions called there."""
    lines: set[int] = set()
    used: set[str] = set()
    known = set(names)
    assignments = [node for node in _nodes(scope) if isinstance(node, ast.Assign | ast.AnnAssign)]
    for _ in range(MAX_ROUNDS):
        for node in assignments:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if node.value is not None and any(_names(target) & known for target in targets):
                lines |= _lines(node)
                used |= {_called(each) for each in ast.walk(node.value) if isinstance(each, ast.Call)}
                known |= _names(node.value) & {name for each in assignments for name in _assigned(each)}
    return lines, used


def _assigned(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {name for target in targets for name in _names(target)}
