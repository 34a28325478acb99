"""
Convert definitions to one form: a tree of keys, for each language.

Dictionaries and calls in Python become objects, the flattened keys of a cluster policy become nested ones, and
Terraform's references to local values become their values.
"""

from __future__ import annotations

import ast
import re
import warnings

from spark_rtm.lint.files.documents import Content, Node, UnreadableError
from spark_rtm.lint.python.counterexamples import counterexample_lines

OBJECTS = ("spark_conf", "aws_attributes", "azure_attributes", "gcp_attributes", "autoscale", "custom_tags")
"""The objects of a cluster whose keys a policy flattens."""
LOCAL = re.compile(r"^\$\{local\.(\w+)\}$")
MAX_DEPTH = 40
Entries = dict[str, tuple[int, Node]]


def read_python(code: str) -> list[Node]:
    """Return outermost dictionaries and calls with keywords in Python code, unless a comment marks them as wrong."""
    try:
        with warnings.catch_warnings(action="ignore"):  # an invalid escape in a string
            module = ast.parse(code)
    except (SyntaxError, ValueError) as error:
        raise UnreadableError from error
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
            roots.append(_python_node(node, constants, 0))
        if not is_object or isinstance(node, ast.Call):
            waiting += ast.iter_child_nodes(node)
    return sorted(roots, key=lambda root: root.line)


def _python_node(node: ast.expr, constants: dict[str, ast.expr], depth: int) -> Node:
    content: Content = "${expression}"
    if depth > MAX_DEPTH:
        return Node(node.lineno, content)
    if isinstance(node, ast.Name) and isinstance(constants.get(node.id), ast.Constant | ast.Dict):
        return Node(node.lineno, _python_node(constants[node.id], constants, depth + 1).content)
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        content = node.value
    elif isinstance(node, ast.List | ast.Tuple):
        content = [_python_node(item, constants, depth + 1) for item in node.elts]
    elif isinstance(node, ast.Dict):
        pairs = [(k.value if isinstance(k, ast.Constant) else "<<", v) for k, v in zip(node.keys, node.values)]  # noqa: B905 - equally long
        content = {str(key): (value.lineno, _python_node(value, constants, depth + 1)) for key, value in pairs}
    elif isinstance(node, ast.Call) and node.keywords:
        content = {
            one.arg or "<<": (one.value.lineno, _python_node(one.value, constants, depth + 1)) for one in node.keywords
        }
    return Node(node.lineno, content)


def in_one_form(root: Node) -> Node:
    """Return a document with nested policy keys and resolved local values of Terraform."""
    content = root.content
    local: Entries = {}
    for _, block in content.values() if isinstance(content, dict) else ():
        for one in block.content if isinstance(block.content, list) else [block]:
            if isinstance(content, dict) and "locals" in content and isinstance(one.content, dict):
                local |= one.content if block is content["locals"][1] else {}
    return _with_locals(_nested(root), local, 0) if local else _nested(root)


def _nested(node: Node) -> Node:
    content = node.content
    if not isinstance(content, dict) or not any(_is_policy(key, entry[1]) for key, entry in content.items()):
        return node
    entries: Entries = {}
    for key, (line, child) in content.items():
        value = Node(child.line, _policy_value(child)) if isinstance(child.content, dict) else child
        first, dot, rest = key.partition(".")
        if first in OBJECTS and dot:
            place, holder = entries.setdefault(first, (line, Node(line, {})))
            if isinstance(holder.content, dict):
                holder.content[rest] = (line, value)
                entries[first] = (place, holder)
        else:
            entries[key] = (line, value)
    return Node(node.line, entries)


def _is_policy(key: str, node: Node) -> bool:
    is_rule = isinstance(node.content, dict) and "type" in node.content
    return is_rule and key.partition(".")[0] in (*OBJECTS, "spark_version", "runtime_engine", "node_type_id")


def _policy_value(node: Node) -> Content:
    content = node.content if isinstance(node.content, dict) else {}
    given = content.get("value") or content.get("defaultValue")
    return given[1].content if given else "${policy}"


def _with_locals(node: Node, local: Entries, depth: int) -> Node:
    content = node.content
    if depth > MAX_DEPTH:
        return node
    if isinstance(content, str) and (match := LOCAL.match(content)) and match[1] in local:
        return Node(node.line, _with_locals(local[match[1]][1], local, depth + 1).content)
    if isinstance(content, list):
        return Node(node.line, [_with_locals(item, local, depth + 1) for item in content])
    if isinstance(content, dict):
        entries = {key: (line, _with_locals(child, local, depth + 1)) for key, (line, child) in content.items()}
        return Node(node.line, entries)
    return node
