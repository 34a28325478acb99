"""
Parse JSON, YAML and the dictionaries of Python code, and record the line number of every value.

Python's `json` module does not record line numbers, but `ast` does, and a JSON text is a Python expression.
YAML can be parsed only if PyYAML is installed.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from spark_rtm.lint.python.counterexamples import counterexample_lines
from spark_rtm.lint.rules.rule import UncheckedError

TOKEN = re.compile(r'[{}\[\]:]|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s{}\[\],:"]++')
MAX_VALUES = 400_000
"""A document with this many tokens takes about 2 s and 200 MB."""
MAX_DEPTH = 60
JSON_NAMES = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a document with its line number. Entries of an object also have their key's line number."""

    line: int
    content: Content


Content: TypeAlias = "dict[str, tuple[int, Node]] | list[Node] | str | float | bool | None"


class UnreadableError(UncheckedError):
    """Raised if a document cannot be parsed."""

    def __init__(self, line: int = 1) -> None:
        super().__init__("the file cannot be parsed, so it was not checked", "correct its syntax", line)


class TooManyValuesError(UncheckedError):
    """Raised if a document has too many values for the linter."""

    def __init__(self) -> None:
        reason = f"the document has more than {MAX_VALUES:,} tokens, so it was not checked"
        super().__init__(reason, "split the document")


def read_json(text: str) -> list[Node]:
    """Return the root node of a JSON text. A comma may follow the last value."""
    if sum(1 for _ in TOKEN.finditer(text)) > MAX_VALUES:
        raise TooManyValuesError
    names = {name: ast.Constant(value, lineno=1) for name, value in JSON_NAMES.items()}
    return [_node(_parsed(f"({text}\n)", "eval").body, names)]


def read_python(code: str) -> list[Node]:
    """Return outermost dictionaries and calls with keywords in Python code, unless a comment marks them as wrong."""
    module: ast.Module = _parsed(code)
    wrong = counterexample_lines(code, module, is_excerpt=False)
    constants = {
        target.id: statement.value
        for statement in module.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    roots: list[Node] = []
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        is_object = isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and any(one.arg for one in node.keywords))
        if isinstance(node, ast.expr) and is_object and node.lineno not in wrong:
            roots.append(_node(node, constants))
        if not is_object or isinstance(node, ast.Call):
            waiting += ast.iter_child_nodes(node)
    return sorted(roots, key=lambda root: root.line)


def _parsed(code: str, mode: str = "exec") -> Any:
    try:
        with warnings.catch_warnings(action="ignore"):  # an invalid escape in a string
            return ast.parse(code, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableError(getattr(error, "lineno", 1) or 1) from error


def _node(node: ast.expr, names: Mapping[str, ast.expr], depth: int = 0) -> Node:
    """Return the node of an expression. `names` are the values of names; other expressions become `${expression}`."""
    content: Content = "${expression}"
    if depth > MAX_DEPTH:
        return Node(node.lineno, content)
    if isinstance(node, ast.Name) and isinstance(names.get(node.id), ast.Constant | ast.Dict):
        content = _node(names[node.id], names, depth + 1).content
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # JSON may write a character as two surrogates
        content = node.value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float | bool | None):
        content = node.value
    elif isinstance(node, ast.List | ast.Tuple):
        content = [_node(item, names, depth + 1) for item in node.elts]
    elif isinstance(node, ast.Dict):
        content = _entries(zip(node.keys, node.values, strict=True), names, depth + 1)
    elif isinstance(node, ast.Call) and node.keywords:
        pairs = [(ast.Constant(each.arg or "<<", lineno=each.lineno), each.value) for each in node.keywords]
        content = _entries(pairs, names, depth + 1)
    return Node(node.lineno, content)


def _entries(
    pairs: Iterable[tuple[ast.expr | None, ast.expr]], names: Mapping[str, ast.expr], depth: int
) -> dict[str, tuple[int, Node]]:
    entries = {}
    for key, value in pairs:
        text = str(key.value) if isinstance(key, ast.Constant) else "<<"
        entries[text] = ((key or value).lineno, _node(value, names, depth))
    return entries


def read_yaml(text: str) -> list[Node]:
    """Return the root node of each document in a YAML text. All aliases of a node become one node."""
    try:
        import yaml  # noqa: PLC0415  # the linter must run without third-party packages
    except ModuleNotFoundError as error:
        raise UncheckedError("PyYAML is not installed, so the YAML was not checked", "install PyYAML") from error
    try:
        converted: dict[int, Node] = {}
        return [_yaml_node(root, converted, 0) for root in yaml.compose_all(text, Loader=yaml.SafeLoader)]
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise UnreadableError(mark.line + 1 if mark else 1) from error


def _yaml_node(node: Any, converted: dict[int, Node], depth: int) -> Node:
    line, content = node.start_mark.line + 1, node.value
    if depth > MAX_DEPTH:
        raise UnreadableError(line)
    if id(node) not in converted:
        if node.id == "mapping":
            entries = [(key, value) for key, value in content if isinstance(key.value, str)]
            nodes = [(key, _yaml_node(value, converted, depth + 1)) for key, value in entries]
            content = {key.value: (key.start_mark.line + 1, value) for key, value in nodes}
        elif node.id == "sequence":
            content = [_yaml_node(item, converted, depth + 1) for item in content]
        elif node.tag.endswith(":bool"):
            content = content.lower() in {"true", "yes", "on"}
        converted[id(node)] = Node(line, content)
    return converted[id(node)]
