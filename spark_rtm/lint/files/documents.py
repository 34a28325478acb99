"""
Parse JSON, YAML and dictionaries in Python code, and record the line number of every value.

Python's `json` module does not record line numbers, but `ast` does, and a JSON text is a Python expression.
Parsing YAML requires PyYAML.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from spark_rtm.lint.facts import Array, Object
from spark_rtm.lint.problem import UncheckedError, UnreadableError, check_tokens, spend
from spark_rtm.lint.python.counterexamples import python_marks

TOKEN = re.compile(r'[{}\[\]:]|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s{}\[\],:"]++')
MAX_VALUES = 400_000
"""Maximum number of tokens in JSON and Python. Parsing this many takes about 2 s and 200 MB."""
MAX_YAML_VALUES = 150_000
"""Maximum number of tokens in YAML, which is lower because PyYAML is a slow parser in Python."""
MAX_DEPTH = 60
CONSTANTS = {"true": True, "false": False, "null": None}
UNKNOWN = "${expression}"


def read_json(text: str) -> list[Any]:
    """Parse a JSON text, in which a comma may follow the last value."""
    check_tokens(sum(1 for _ in TOKEN.finditer(text)), MAX_VALUES)
    names = {name: ast.Constant(value, lineno=1) for name, value in CONSTANTS.items()}
    return [_value(_parsed(f"({text}\n)", "eval").body, names)]


def read_dictionaries(code: str) -> list[Any]:
    """Return the outermost dictionaries and keyword calls in Python code, unless comments mark them as wrong."""
    module: ast.Module = _parsed(code)
    marks = python_marks(code, module, is_excerpt=False)
    constants = {
        target.id: statement.value
        for statement in module.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    roots: list[ast.expr] = []
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        is_object = isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and any(one.arg for one in node.keywords))
        if isinstance(node, ast.expr) and is_object and not marks.cover("cluster", node.lineno):
            roots.append(node)
        if not is_object or isinstance(node, ast.Call):
            waiting += ast.iter_child_nodes(node)
    return [_value(root, constants) for root in roots]


def _parsed(code: str, mode: str = "exec") -> Any:
    try:
        with warnings.catch_warnings(action="ignore"):  # a string may contain an invalid escape
            return ast.parse(code, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableError(getattr(error, "lineno", 1) or 1) from error


def _value(node: ast.expr, names: Mapping[str, ast.expr], depth: int = 0) -> Any:
    """Evaluate a literal expression. `names` maps names to values. Other expressions become `${expression}`."""
    value: Any = UNKNOWN
    if depth > MAX_DEPTH or isinstance(node, ast.Attribute):
        return _member(node)
    if isinstance(node, ast.Name) and isinstance(names.get(node.id), ast.Constant | ast.Dict):
        value = _value(names[node.id], names, depth + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # JSON may contain surrogate pairs
        value = node.value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float | bool | None):
        value = node.value
    elif isinstance(node, ast.List | ast.Tuple):
        value = Array(_value(item, names, depth + 1) for item in node.elts)
        value.lines = [item.lineno for item in node.elts]
    elif isinstance(node, ast.Dict):
        keys = [str(key.value) if isinstance(key, ast.Constant) else "<<" for key in node.keys]
        lines = [(key or value).lineno for key, value in zip(node.keys, node.values, strict=True)]
        values = [_value(each, names, depth + 1) for each in node.values]
        value = Object(zip(keys, lines, values, strict=True))
    elif isinstance(node, ast.Call) and node.keywords:
        value = Object((each.arg or "<<", each.lineno, _value(each.value, names, depth + 1)) for each in node.keywords)
    return value


def _member(node: ast.expr) -> str:
    """Return the name of an enum member such as `RuntimeEngine.PHOTON`."""
    is_member = isinstance(node, ast.Attribute) and re.search(r"\b[A-Z][a-z]\w*$", ast.unparse(node.value))
    return node.attr if is_member and isinstance(node, ast.Attribute) else UNKNOWN


def read_yaml(text: str) -> list[Any]:
    """Parse each document in a YAML text. All aliases of a node become one object."""
    try:
        import yaml  # noqa: PLC0415  # the linter must run without third-party packages
    except ModuleNotFoundError as error:
        raise UncheckedError("PyYAML is not installed, so the YAML was not checked", "install PyYAML") from error
    check_tokens(sum(1 for _ in TOKEN.finditer(text)), MAX_YAML_VALUES)
    try:
        converted: dict[int, Any] = {}
        return [_yaml_value(root, converted, 0) for root in yaml.compose_all(text, Loader=yaml.SafeLoader)]
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise UnreadableError(mark.line + 1 if mark else 1) from error


def _yaml_value(node: Any, converted: dict[int, Any], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise UnreadableError(node.start_mark.line + 1)
    if id(node) not in converted:
        content = node.value
        if node.id == "mapping":
            content = Object(_yaml_entries(content, converted, depth + 1))
        elif node.id == "sequence":
            content = [_yaml_value(item, converted, depth + 1) for item in content]
        elif node.tag.endswith(":bool"):
            content = content.lower() in {"true", "yes", "on"}
        converted[id(node)] = content
    return converted[id(node)]


def _yaml_entries(content: Any, converted: dict[int, Any], depth: int) -> Iterator[tuple[str, int, Any]]:
    """Yield a mapping's keys with lines and values, after those of the mappings that its key `<<` merges into it."""
    own = [(key, _yaml_value(value, converted, depth)) for key, value in content if isinstance(key.value, str)]
    for merged in (value for key, value in own if key.value == "<<"):
        for one in reversed(merged if isinstance(merged, list) else [merged]):
            if isinstance(one, Object):
                spend(len(one))
                yield from ((name, one.lines[name], one[name]) for name in one)
    yield from ((key.value, key.start_mark.line + 1, value) for key, value in own if key.value != "<<")
