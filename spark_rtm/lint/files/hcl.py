"""Parse Terraform files for the rules: blocks, attributes, objects and constants."""

import re
from collections.abc import Iterator

from spark_rtm.lint.files.documents import MAX_VALUES, Content, Node, TooManyValuesError

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
    """Return one node with all blocks of a file. A block's key contains its labels, and its line if it is repeated."""
    tokens = list(_tokens(text))
    if len(tokens) > MAX_VALUES:
        raise TooManyValuesError
    entries = _Parser(tokens).body()
    if not any("." in key for key in entries):
        return [Node(1, entries)]
    # A file has only blocks with labels, because attributes would make it a cluster.
    return [Node(1, {key: entry for key, entry in entries.items() if isinstance(entry[1].content, dict)})]


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
        return CONSTANTS.get(word, word if word.isdecimal() else f"${{{word}}}")

    def _expression(self) -> str:
        depth = 0
        while self.text and (depth > 0 or self.text not in ENDS):
            depth += (self.text in {"(", "[", "{"}) - (self.text in {")", "]", "}"})
            self.take()
        return "${expression}"
