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

from spark_rtm.lint.rules.unchecked import Steps, UncheckedError

TOKEN = re.compile(r'[\s,]*+(?:([{}\[\]:])|("[^"\\]*+(?:\\.[^"\\]*+)*+")|([^\s{}\[\],:"]++))')
MAX_VALUES = 400_000
"""A document with this many values takes about 2 s and 200 MB."""
MAX_YAML_DEPTH = 60
Token: TypeAlias = tuple[int, str]
"""The line number and the text of a token."""


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
    """Return the root node of each document in a JSON text. Commas between values may be missing."""
    tokens = _tokens(text)
    roots = [_node(token, tokens) for token in tokens]
    if not roots:
        raise UnreadableError
    return roots


def _tokens(text: str) -> Iterator[Token]:
    steps = Steps(MAX_VALUES, TooManyValuesError)
    position, end, line = 0, len(text.rstrip().rstrip(",")), 1
    while position < end:
        match = TOKEN.match(text, position)
        if not match:
            raise UnreadableError(line)
        line += text.count("\n", position, match.end())
        position = match.end()
        steps.spend()
        yield line, match[match.lastindex or 0]


def _next(tokens: Iterator[Token]) -> Token:
    token = next(tokens, None)
    if token is None:
        raise UnreadableError
    return token


def _node(token: Token, tokens: Iterator[Token]) -> Node:
    line, text = token
    if text == "{":
        return Node(line, _entries(tokens))
    if text == "[":
        items = []
        while (token := _next(tokens))[1] != "]":
            items.append(_node(token, tokens))
        return Node(line, items)
    try:
        return Node(line, json.loads(text))
    except ValueError as error:
        raise UnreadableError(line) from error


def _entries(tokens: Iterator[Token]) -> dict[str, tuple[int, Node]]:
    entries = {}
    while (token := _next(tokens))[1] != "}":
        line, key = token
        if not key.startswith('"') or _next(tokens)[1] != ":":
            raise UnreadableError(line)
        try:
            name = str(json.loads(key))
        except ValueError as error:
            raise UnreadableError(line) from error
        entries[name] = (line, _node(_next(tokens), tokens))
    return entries


def read_yaml(text: str) -> list[Node]:
    """Return the root node of each document in a YAML text."""
    try:
        import yaml  # noqa: PLC0415  # the linter must run without third-party packages
    except ModuleNotFoundError as error:
        raise UncheckedError("PyYAML is not installed, so the YAML was not checked", "install PyYAML") from error
    try:
        return [_YamlNodes(yaml).node(root) for root in yaml.compose_all(text, Loader=yaml.SafeLoader)]
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise UnreadableError(mark.line + 1 if mark else 1) from error


class _YamlNodes:
    """Converts PyYAML's nodes. All aliases of a node become one node, which may contain itself."""

    def __init__(self, yaml: Any) -> None:
        self.yaml = yaml
        self.converted: dict[int, Node] = {}

    def node(self, node: Any, depth: int = 0) -> Node:
        if depth > MAX_YAML_DEPTH:
            raise UnreadableError(node.start_mark.line + 1)
        if id(node) not in self.converted:
            self.converted[id(node)] = Node(node.start_mark.line + 1, self._content(node, depth + 1))
        return self.converted[id(node)]

    def _content(self, node: Any, depth: int) -> Content:
        if isinstance(node, self.yaml.MappingNode):
            entries = [(key, value) for key, value in node.value if isinstance(key.value, str)]
            return {key.value: (key.start_mark.line + 1, self.node(value, depth)) for key, value in entries}
        if isinstance(node, self.yaml.SequenceNode):
            return [self.node(item, depth) for item in node.value]
        is_boolean = node.tag.endswith(":bool")
        return node.value.lower() in {"true", "yes", "on"} if is_boolean else str(node.value)
