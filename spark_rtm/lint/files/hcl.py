"""Parse Terraform files for the rules: blocks, attributes, objects, lists and constants."""

import re
from collections.abc import Iterator

from spark_rtm.lint.files.documents import MAX_VALUES, Content, Node, TooManyValuesError
from spark_rtm.lint.rules.rule import Steps

TOKEN = re.compile(
    r"(?P<note>(?:#|//)[^\n]*+|/\*(?:.*?\*/|.*))|<<-?(?P<heredoc>\w++)(?:.*?\n[ \t]*(?P=heredoc)\b|.*)"
    r"|\"(?:[^\"\\\n]|\\.)*+\"|[\w.*-]++|[^\S\n]++|\S|\n",
    re.DOTALL,
)
WORD = re.compile(r"[\w.*\"-]")
"""The first character of a word or a string."""
MAX_DEPTH = 40
ENDS = {"", "\n", ",", "}", "]"}
CONSTANTS: dict[str, Content] = {"true": True, "false": False, "null": None}


def read_hcl(text: str) -> list[Node]:
    """Return one node with all blocks of a file. A block's key contains its labels."""
    parser = _Parser(list(_tokens(text)))
    roots = [_root(parser.body())]
    while parser.text:  # a bracket without a partner
        parser.take()
        roots.append(_root(parser.body()))
    return roots


def _root(entries: dict[str, tuple[int, Node]]) -> Node:
    """Return the root of a file. It has only blocks with labels, because attributes would make it a cluster."""
    if not any("." in key for key in entries):
        return Node(1, entries)
    blocks = {key: entry for key, entry in entries.items() if isinstance(entry[1].content, dict | list)}
    return Node(1, blocks)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yield the text and the line number of each token. A heredoc is an empty string."""
    line = 1
    for match in TOKEN.finditer(text):
        if not match["note"] and (match[0] == "\n" or not match[0].isspace()):
            yield '""' if match["heredoc"] else match[0], line
        line += match[0].count("\n")
    yield "", line


class _Parser:
    def __init__(self, tokens: list[tuple[str, int]]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0
        self.steps = Steps(MAX_VALUES, TooManyValuesError)

    @property
    def text(self) -> str:
        return self.tokens[self.position][0]

    @property
    def line(self) -> int:
        return self.tokens[self.position][1]

    def take(self) -> str:
        self.steps.spend()
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
            if labels and self.text in {"=", ":"}:
                self.take()
                self._add(entries, labels[-1], line, Node(line, self.value()))
            elif labels and self.text == "{":
                self._add(entries, ".".join(labels), line, Node(line, self.value()))
            elif not labels:
                self.take()
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
        while self.text == "\n":
            self.take()
        content: Content = self.text
        if content in {"{", "["} and self.depth < MAX_DEPTH:
            self.take()
            self.depth += 1
            content = self.body() if content == "{" else self._items()
            self.depth -= 1
            if self.text in {"}", "]"}:
                self.take()
            return content if self.text in ENDS else self._expression()
        if not WORD.match(self.text):
            return self._expression()
        word = self.take()
        if self.text not in ENDS:
            return self._expression()
        if word.startswith('"'):
            return word[1:-1]
        return CONSTANTS.get(word, word if word.isdecimal() else f"${{{word}}}")

    def _items(self) -> list[Node]:
        items = []
        while self.text not in {"", "]", "}"}:
            if self.text in {"\n", ","}:
                self.take()
            else:
                line = self.line
                items.append(Node(line, self.value()))
        return items

    def _expression(self) -> str:
        depth = 0
        while self.text and (depth > 0 or self.text not in ENDS):
            depth += (self.text in {"(", "[", "{"}) - (self.text in {")", "]", "}"})
            self.take()
        return "${expression}"
