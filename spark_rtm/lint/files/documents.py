"""
Parse JSON, YAML, Terraform and the dictionaries of Python code, and record the line number of every value.

Python's `json` module does not record line numbers, but `ast` does, and a JSON text is a Python expression.
YAML can be parsed only if PyYAML is installed.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
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
HCL_TOKEN = re.compile(
    r"(?P<note>(?:#|//)[^\n]*+|/\*(?:.*?\*/|.*))|<<-?(?P<heredoc>\w++)(?:.*?\n[ \t]*(?P=heredoc)\b|.*)"
    r"|\"(?:[^\"\\\n]|\\.)*+\"|[\w.*-]++|[^\S\n]++|\S|\n",
    re.DOTALL,
)
WORD = re.compile(r"[\w.*\"-]")
"""The first character of a word or a string."""
ENDS = {"", "\n", ",", "}", "]"}
HCL_CONSTANTS: dict[str, Content] = {"true": True, "false": False, "null": None}


class UnreadableError(UncheckedError):
    """Raised if a document cannot be parsed."""

    def __init__(self, line: int = 1) -> None:
        super().__init__("the file cannot be parsed, so it was not checked", "correct its syntax", line)


def _check_size(tokens: Iterable[object]) -> None:
    if sum(1 for _ in tokens) > MAX_VALUES:
        reason = f"the document has more than {MAX_VALUES:,} tokens, so it was not checked"
        raise UncheckedError(reason, "split the document")


def read_json(text: str) -> list[Node]:
    """Return the root node of a JSON text. A comma may follow the last value."""
    _check_size(TOKEN.finditer(text))
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
        converted[id(node)] = Node(line, content)
    return converted[id(node)]


def read_hcl(text: str) -> list[Node]:
    """Return one node with all blocks of a file. A block's key contains its labels, and its line if it is repeated."""
    tokens = list(_hcl_tokens(text))
    _check_size(tokens)
    entries = _HclParser(tokens).body()
    if not any("." in key for key in entries):
        return [Node(1, entries)]
    # A file has only blocks with labels, because attributes would make it a cluster.
    return [Node(1, {key: entry for key, entry in entries.items() if isinstance(entry[1].content, dict)})]


def _hcl_tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yield the text and the line number of each token. A heredoc is an empty string."""
    line = 1
    for match in HCL_TOKEN.finditer(text):
        if not match["note"] and (match[0] == "\n" or not match[0].isspace()):
            yield '""' if match["heredoc"] else match[0], line
        line += match[0].count("\n")
    yield "", line


class _HclParser:
    def __init__(self, tokens: list[tuple[str, int]]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0

    @property
    def text(self) -> str:
        return self.tokens[self.position][0]

    @property
    def line(self) -> int:
        return self.tokens[self.position][1]

    def take(self) -> str:
        text = self.text
        self.position = min(self.position + 1, len(self.tokens) - 1)
        return text

    def body(self) -> dict[str, tuple[int, Node]]:
        """Return the attributes and blocks up to a closing bracket, which is not consumed."""
        entries: dict[str, tuple[int, Node]] = {}
        while self.text not in {"", "}", "]"}:
            line, labels = self.line, []
            while WORD.match(self.text):
                labels.append(self.take().strip('"'))
            if labels and self.text in {"=", ":", "{"}:
                key = ".".join(labels) if self.text == "{" else labels[-1]
                self.position += self.text != "{"
                entries[f"{key} {line}" if key in entries else key] = (line, Node(line, self.value()))
            elif not labels:
                self.take()
        return entries

    def value(self) -> Content:
        """Return the next value. A list or another expression becomes a string that begins with `${`."""
        while self.text == "\n":
            self.take()
        if self.text == "{" and self.depth < MAX_DEPTH:
            self.take()
            self.depth += 1
            content = self.body()
            self.depth -= 1
            if self.text == "}":
                self.take()
            return content
        word = self.take() if WORD.match(self.text) else ""
        if not word or self.text not in ENDS:
            return self._expression()
        if word.startswith('"'):
            return word[1:-1]
        return HCL_CONSTANTS.get(word, word if word.isdecimal() else f"${{{word}}}")

    def _expression(self) -> str:
        depth = 0
        while self.text and (depth > 0 or self.text not in ENDS):
            depth += (self.text in {"(", "[", "{"}) - (self.text in {")", "]", "}"})
            self.take()
        return "${expression}"
