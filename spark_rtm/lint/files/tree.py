"""
Convert definitions to one form: a tree of keys.

The flattened keys of a cluster policy become nested ones, and Terraform's references to local values become their
values.
"""

import re

from spark_rtm.lint.files.documents import Content, Node

OBJECTS = ("spark_conf", "aws_attributes", "azure_attributes", "gcp_attributes", "autoscale", "custom_tags")
"""The objects of a cluster whose keys a policy flattens."""
LOCAL = re.compile(r"^\$\{local\.(\w+)\}$")
MAX_DEPTH = 40
Entries = dict[str, tuple[int, Node]]


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
