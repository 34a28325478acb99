"""Parse Terraform files for the rules: blocks, attributes, objects, lists and constants."""

import re

from spark_rtm.lint.files.documents import MAX_VALUES, Content, Node, TooManyValuesError
from spark_rtm.lint.rules.unchecked import Steps

TOKEN = re.compile(
    r"(?P<blank>[^\S\n]++)|(?P<line>\n)|(?P<note>(?:#|//)[^\n]*+)|(?P<long>/\*)|<<-?(?P<heredoc>\w++)[^\n]*+"
    r"|(?P<text>\"(?:[^\"\\\n]|\\.)*+\")|(?P<word>[\w.*-]++)|(?P<sign>[^\s\w])"
)
MAX_DEPTH = 40
Token = tuple[str, str, int]
"""The kind, the text and the line number of a token."""


def read_hcl(text: str) -> list[Node]:
    """Return one node with all blocks of a file. A block's key contains its labels."""
    parser = _Parser(_tokens(text))
    roots = [_root(parser.body())]
    while parser.kind != "end":  # a bracket without a partner
        parser.advance()
        roots.append(_root(parser.body()))
    return roots


def _root(entries: dict[str, tuple[int, Node]]) -> Node:
    """Return the root of a file. It has only blocks with labels, because attributes would make it a cluster."""
    if not any("." in key for key in entries):
        return Node(1, entries)
    return Node(
        1, {key: (line, node) for key, (line, node) in entries.items() if isinstance(node.content, dict | list)}
    )


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    position, line = 0, 1
    while position < len(text) and (match := TOKEN.match(text, position)):
        kind, end = match.lastgroup or "", match.end()
        if kind == "long":
            close = text.find("*/", end)
            end = len(text) if close < 0 else close + 2
        elif kind == "heredoc":
            close_mark = re.compile(rf"^[ \t]*{re.escape(match['heredoc'])}\b", re.MULTILINE).search(text, end)
            end = close_mark.end() if close_mark else len(text)
            tokens.append(("text", "", line))
        elif kind in {"text", "word", "sign", "line"}:
            tokens.append((kind, match[0], line))
        line += text.count("\n", position, end)
        position = end
    return [*tokens, ("end", "", line)]


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0
        self.steps = Steps(MAX_VALUES, TooManyValuesError)

    @property
    def kind(self) -> str:
        return self.tokens[self.position][0]

    @property
    def text(self) -> str:
        return self.tokens[self.position][1]

    @property
    def line(self) -> int:
        return self.tokens[self.position][2]

    def advance(self) -> None:
        self.steps.spend()
        self.position = min(self.position + 1, len(self.tokens) - 1)

    def skip_lines(self) -> None:
        while self.kind == "line" or self.text == ",":
            self.advance()

    def body(self) -> dict[str, tuple[int, Node]]:
        """Return the attributes and blocks up to a closing brace, which is not consumed."""
        entries: dict[str, tuple[int, Node]] = {}
        self.skip_lines()
        while self.kind != "end" and self.text not in {"}", "]"}:
            start = self.position
            line, labels = self.line, []
            while self.kind in {"word", "text"}:
                labels.append(self.text.strip('"'))
                self.advance()
            if self.text in {"=", ":"} and labels:
                self.advance()
                self._add(entries, labels[-1], line, Node(line, self.value()))
            elif self.text == "{" and labels:
                self._add(entries, ".".join(labels), line, Node(line, self.value()))
            if self.position == start or self.text not in {"", "\n", "}", ",", "]"}:
                self.advance()
            self.skip_lines()
        return entries

    @staticmethod
    def _add(entries: dict[str, tuple[int, Node]], key: str, line: int, node: Node) -> None:
        """Add a block or an attribute. Blocks with the same key become a list."""
        if key not in entries:
            entries[key] = (line, node)
            return
        first, before = entries[key]
        if isinstance(before.content, list):
            before.content.append(node)
        else:
            entries[key] = (first, Node(first, [before, node]))

    def value(self) -> Content:
        """Return the next value. An expression becomes a string that begins with `${`."""
        while self.kind == "line":
            self.advance()
        if self.text in {"{", "["} and self.depth < MAX_DEPTH:
            is_object = self.text == "{"
            self.advance()
            self.depth += 1
            content: Content = self.body() if is_object else self._items()
            self.depth -= 1
            if self.text in {"}", "]"}:
                self.advance()
            return content if self._is_end() else self._expression()
        kind, text = self.kind, self.text
        if kind in {"text", "word"}:
            self.advance()
            if self._is_end():
                return self._constant(kind, text)
        return self._expression()

    def _is_end(self) -> bool:
        return self.kind in {"line", "end"} or self.text in {",", "}", "]"}

    @staticmethod
    def _constant(kind: str, text: str) -> Content:
        if kind == "text":
            return text[1:-1]
        known: dict[str, Content] = {"true": True, "false": False, "null": None}
        return known[text] if text in known else text if text.isdecimal() else f"${{{text}}}"

    def _items(self) -> list[Node]:
        items = []
        self.skip_lines()
        while self.kind != "end" and self.text not in {"]", "}"}:
            start, line = self.position, self.line
            items.append(Node(line, self.value()))
            if self.position == start:
                self.advance()
            self.skip_lines()
        return items

    def _expression(self) -> str:
        depth = 0
        while self.kind != "end" and (depth > 0 or not self._is_end()):
            depth += (self.text in {"(", "[", "{"}) - (self.text in {")", "]", "}"})
            self.advance()
        return "${expression}"
