"""Split Scala or Java code into tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

TOKEN = re.compile(
    r"[^\S\n]*+(?:(?P<lines>\n++)|(?P<note>//[^\n]*+)|(?P<long>/\*)|(?P<quotes>[A-Za-z]?\"\"\")"
    r"|(?P<text>(?:\b[sf]|\braw)?\"(?:[^\"\\\n]|\\.)*+\")"
    r"|(?P<char>'(?:[^'\\\n]|\\.)')|(?P<number>\d[\d_]*+(?:\.\d++)?[LlFfDd]?)|(?P<name>[A-Za-z_]\w*+)"
    r"|(?P<sign>=>|->|<-|==|!=|<=|>=|&&|\|\||[^\s\w]))"
)
KINDS = {"text", "number", "name", "sign"}
MULTILINE = {"lines", "long", "quotes"}


class Token(NamedTuple):
    """A token: its kind (`text`, `number`, `name`, `sign` or `end`), its text, and the number of its line."""

    kind: str
    text: str
    line: int


def tokens_of(code: str) -> list[Token]:
    """Return the tokens without comments; the last one has the kind `end`."""
    tokens: list[Token] = []
    position, line = 0, 1
    while position < len(code) and (match := TOKEN.match(code, position)):
        kind, end = match.lastgroup or "", match.end()
        if kind in {"long", "quotes"}:
            close = code.find("*/" if kind == "long" else '"""', end)
            end = len(code) if close < 0 else close + (2 if kind == "long" else 3)
            if kind == "quotes":
                prefix = match[kind].rstrip('"')
                tokens.append(Token("text", f'{prefix}"{code[match.end() : end - 3]}"', line))
        elif kind in KINDS:
            tokens.append(Token(kind, match[kind], line))
        elif kind == "char":
            tokens.append(Token("text", '"?"', line))
        if kind in MULTILINE:
            line += code.count("\n", position, end)
        position = end
    tokens.append(Token("end", "", line))
    return tokens
