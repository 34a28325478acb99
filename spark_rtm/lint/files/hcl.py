"""Parse Terraform files for the rules: blocks, attributes, objects, lists and constants."""

import re
from collections.abc import Iterator
from typing import Any

from spark_rtm.lint.facts import Object
from spark_rtm.lint.files.documents import CONSTANTS, MAX_VALUES, UNKNOWN
from spark_rtm.lint.problem import check_tokens
from spark_rtm.text import numbered

TOKEN = re.compile(
    r"(?P<note>(?:#|//)[^\n]*+|/\*(?:.*?\*/|.*))|<<-?(?P<heredoc>\w++)(?:.*?\n[ \t]*(?P=heredoc)\b|.*)"
    r"|\"(?:[^\"\\\n]|\\.)*+\"|[\w.*-]++|[^\S\n]++|\S|\n",
    re.DOTALL,
)
WORD = re.compile(r"[\w.*\"-]")
"""Pattern for the first character of a word or a string."""
MAX_DEPTH = 40
ENDS = {"", "\n", ",", "}", "]"}


def read_hcl(text: str) -> list[Object]:
    """Return one object that contains all blocks in a file. A block's key includes its labels."""
    tokens = list(_tokens(text))
    check_tokens(len(tokens), MAX_VALUES)
    parser = _Parser(iter(tokens))
    roots = [_root(parser.body())]
    while parser.text:  # an unmatched bracket
        parser.take()
        roots.append(_root(parser.body()))
    return roots


def _root(entries: Object) -> Object:
    """Return a file's root. If it has labeled blocks, drop its attributes, which would make it look like a cluster."""
    if not any("." in key for key in entries):
        return entries
    return Object((key, entries.lines[key], value) for key, value in entries.items() if isinstance(value, dict | list))


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yield the text and the line number of each token. A heredoc becomes an empty string."""
    for line, match in numbered(TOKEN, text):
        if not match["note"] and (match[0] == "\n" or not match[0].isspace()):
            yield '""' if match["heredoc"] else match[0], line
    yield "", text.count("\n") + 1


class _Parser:
    def __init__(self, tokens: Iterator[tuple[str, int]]) -> None:
        self.tokens = tokens
        self.text, self.line = next(tokens)
        self.depth = 0

    def take(self) -> str:
        """Consume and return the next token. The last token, which is empty, is never consumed."""
        text = self.text
        self.text, self.line = next(self.tokens, ("", self.line))
        return text

    def body(self) -> Object:
        """Parse attributes and blocks up to a closing bracket, which is not consumed."""
        entries = Object()
        while self.text not in {"", "}", "]"}:
            line, labels = self.line, []
            while WORD.match(self.text):
                labels.append(self.take().strip('"'))
            if labels and self.text in {"=", ":"}:
                self.take()
                self._add(entries, labels[-1], line)
            elif labels and self.text == "{":
                is_dynamic = labels[0] == "dynamic" and len(labels) == 2
                self._add(entries, labels[1] if is_dynamic else ".".join(labels), line, is_dynamic=is_dynamic)
            elif not labels:
                self.take()
        return entries

    def _add(self, entries: Object, key: str, line: int, *, is_dynamic: bool = False) -> None:
        """Add the next value as a block or an attribute. Blocks with the same key become a list."""
        value = self.value()
        if is_dynamic and isinstance(value, Object):
            value = value.get("content", value)
        if key not in entries:
            entries.add(key, line, value)
        elif isinstance(entries[key], list):
            entries[key].append(value)
        else:
            entries[key] = [entries[key], value]

    def value(self) -> Any:
        """Parse the next value. An expression becomes a string that begins with `${`."""
        while self.text == "\n":
            self.take()
        content: Any = self.text
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
        if word == "merge" and self.text == "(":
            return self._merged()
        if self.text not in ENDS:
            return self._expression()
        if word.startswith('"'):
            return word[1:-1]
        return CONSTANTS.get(word, word if word.isdecimal() else f"${{{word}}}")

    def _merged(self) -> Any:
        """Return the objects in a `merge` call as one object. Other arguments become keys that begin with `<<`."""
        merged = Object()
        self.take()
        while self.text not in {"", ")", "}", "]"}:
            line, depth, words = self.line, 0, list[str]()
            if self.text == "{":
                self.take()
                part = self.body()
                self.take()
                for key in part:
                    merged.add(key, part.lines[key], part[key])
            while self.text and (depth > 0 or self.text not in {",", ")", "}", "]"}):
                depth += (self.text in {"(", "[", "{"}) - (self.text in {")", "]", "}"})
                words.append(self.take())
            if name := "".join(words).strip():
                merged.add(f"<<{len(merged)}" if "<<" in merged else "<<", line, f"${{{name}}}")
            if self.text == ",":
                self.take()
        self.take()
        return merged if self.text in ENDS else self._expression()

    def _items(self) -> list[Any]:
        items = []
        while self.text not in {"", "]", "}"}:
            if self.text in {"\n", ","}:
                self.take()
            else:
                items.append(self.value())
        return items

    def _expression(self) -> str:
        depth = 0
        while self.text and (depth > 0 or self.text not in ENDS):
            depth += (self.text in {"(", "[", "{"}) - (self.text in {")", "]", "}"})
            self.take()
        return UNKNOWN
