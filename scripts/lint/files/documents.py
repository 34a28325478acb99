"""
Parse JSON and YAML, and record the line number of every value.

Python's `json` module does not record line numbers, so this module contains its own JSON parser.
YAML can be parsed only if PyYAML is installed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

TOKEN = re.compile(r'[\s,]*(?:([{}\[\]:])|("(?:\\.|[^"\\])*")|([^\s{}\[\],:"]+))')
MAX_YAML_DEPTH = 60


@dataclass(frozen=True)
class Node:
    """A value in a document and its line number; each entry of an object also holds the line number of its key."""

    line: int
    content: Content


Content: TypeAlias = "dict[str, tuple[int, Node]] | list[Node] | str | float | bool | None"


class UnreadableError(ValueError):
    """Raised if a text is not a document in the expected format."""


def read_json(text: str) -> Node:
    """Return the root node of a JSON document."""
    tokens = [(match, text.count("\n", 0, match.end()) + 1) for match in _tokens(text)]
    if not tokens:
        raise UnreadableError
    tokens.reverse()
    return _node(tokens)


def _tokens(text: str) -> Iterator[re.Match[str]]:
    position, end = 0, len(text.rstrip().rstrip(","))
    while position < end:
        match = TOKEN.match(text, position)
        if not match:
            raise UnreadableError
        yield match
        position = match.end()


def _node(tokens: list[tuple[re.Match[str], int]]) -> Node:
    if not tokens:
        raise UnreadableError
    match, line = tokens.pop()
    if match[1] == "{":
        return Node(line, _entries(tokens))
    if match[1] == "[":
        items = []
        while tokens and tokens[-1][0][1] != "]":
            items.append(_node(tokens))
        if not tokens:
            raise UnreadableError
        tokens.pop()
        return Node(line, items)
    if match[1]:
        raise UnreadableError
    try:
        return Node(line, json.loads(match[2] or match[3]))
    except ValueError as error:
        raise UnreadableError from error


def _entries(tokens: list[tuple[re.Match[str], int]]) -> dict[str, tuple[int, Node]]:
    entries = {}
    while tokens and tokens[-1][0][1] != "}":
        key, line = tokens.pop()
        if not key[2] or not tokens or tokens.pop()[0][1] != ":":
            raise UnreadableError
        try:
            entries[str(json.loads(key[2]))] = (line, _node(tokens))
        except ValueError as error:
            raise UnreadableError from error
    if not tokens:
        raise UnreadableError
    tokens.pop()
    return entries


def read_yaml(text: str) -> list[Node]:
    """Return the root node of each document in a YAML text, or an empty list if PyYAML is not installed."""
    try:
        import yaml  # noqa: PLC0415  # the linter must run without third-party packages
    except ModuleNotFoundError:
        return []
    try:
        return [_from_yaml(node, yaml) for node in yaml.compose_all(text, Loader=yaml.SafeLoader)]
    except (yaml.YAMLError, ValueError) as error:
        raise UnreadableError from error


def _from_yaml(node: Any, yaml: Any, depth: int = 0) -> Node:
    if depth > MAX_YAML_DEPTH:  # a YAML alias may refer to a node that contains the alias
        raise UnreadableError
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        entries = [(key, value) for key, value in node.value if isinstance(key.value, str)]
        return Node(line, {k.value: (k.start_mark.line + 1, _from_yaml(v, yaml, depth + 1)) for k, v in entries})
    if isinstance(node, yaml.SequenceNode):
        return Node(line, [_from_yaml(item, yaml, depth + 1) for item in node.value])
    is_boolean = node.tag.endswith(":bool")
    return Node(line, node.value.lower() in {"true", "yes", "on"} if is_boolean else node.value)
