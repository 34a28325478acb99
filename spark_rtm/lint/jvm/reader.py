"""Split Scala or Java code into tokens, and read them with methods that skip types, brackets and conditions."""

import ast
import re
from typing import NamedTuple

from spark_rtm.lint.jvm import build
from spark_rtm.text import numbered

OPENING, CLOSING = {"(", "[", "{"}, {")", "]", "}"}
MAX_DEPTH = 40
MAX_COMPARISONS = 2000
TOKEN = re.compile(
    r"//[^\n]*+|/\*(?:.*?\*/|.*)|(?P<raw>([A-Za-z]?)\"\"\"(.*?)(?:\"\"\"|\Z))"
    r"|(?P<text>(?:\b[sf]|\braw)?\"(?:[^\"\\\n]|\\.)*+\")|(?P<char>'(?:[^'\\\n]|\\.)')"
    r"|(?P<number>\d[\d_]*+(?:\.\d++)?[LlFfDd]?)|(?P<name>[A-Za-z_]\w*+)"
    r"|(?P<sign>=>|->|<-|==|!=|<=|>=|&&|\|\||[^\s\w])|\n++",
    re.DOTALL,
)


class Token(NamedTuple):
    """A token: its kind (`text`, `number`, `name`, `sign` or `end`), its text, and its line number."""

    kind: str
    text: str
    line: int


def tokens_of(code: str) -> list[Token]:
    """Split code into tokens, discarding comments. The last token has the kind `end`."""
    tokens: list[Token] = []
    for line, match in numbered(TOKEN, code):
        kind = match.lastgroup
        if kind == "raw":
            tokens.append(Token("text", f'{match[2]}"{match[3]}"', line))
        elif kind:
            tokens.append(Token("text", '"?"', line) if kind == "char" else Token(kind, match[0], line))
    return [*tokens, Token("end", "", code.count("\n") + 1)]


class Reader:
    """A reader for Scala or Java tokens with a current position."""

    def __init__(self, tokens: list[Token], *, is_java: bool) -> None:
        self.tokens = tokens
        self.end = len(tokens) - 1
        """Position of the last token, which has the kind `end`."""
        self.is_java = is_java
        self.position = 0
        self.depth = 0
        self.hoisted: list[ast.stmt] = []
        self.subject: ast.expr | None = None
        """The subject of the next `match`."""
        self.comparisons = 0
        """Number of `<` signs that did not start type arguments. After many such signs, the parser stops trying."""
        self.expects_failure = False
        """Whether the next function is a test that expects a failure."""

    @property
    def peek(self) -> Token:
        """The next token."""
        return self.after(0)

    def after(self, count: int) -> Token:
        """Return the token `count` positions after the next token. `count` may be negative."""
        position = self.position + count
        return self.tokens[position] if position < self.end else self.tokens[self.end]

    def take(self, text: str = "") -> Token | None:
        """Consume and return the next token, if the token has this text."""
        token = self.peek
        if token.kind == "end" or (text and token.text != text):
            return None
        self.position += 1
        return token

    def last_line(self) -> int:
        """Return the line number of the last consumed token."""
        return self.tokens[max(0, min(self.position, len(self.tokens)) - 1)].line

    def skip_type(self, ends: set[str]) -> None:
        """Skip a type, up to one of the given signs or a closing bracket."""
        depth = 0
        for _ in range(60):
            text = self.peek.text
            if self.peek.kind == "end" or (depth <= 0 and (text in ends or text in CLOSING)):
                return
            depth += (text in {"[", "(", "<"}) - (text in {"]", ")", ">"})
            self.position += 1

    def skip_brackets(self) -> None:
        """Skip a bracket pair and its content."""
        depth = 0
        while (token := self.take()) is not None:
            depth += (token.text in OPENING) - (token.text in CLOSING)
            if depth <= 0:
                return

    def skip_generics(self) -> None:
        """Skip Java type arguments, if there are any."""
        start, depth = self.position, 0
        for _ in range(40 if self.comparisons < MAX_COMPARISONS else 0):
            text = self.peek.text
            depth += (text == "<") - (text == ">")
            if self.peek.kind not in {"name", "sign"} or text in {"(", ";", "{"}:
                break
            self.position += 1
            if depth == 0:
                return
        self.position = start
        self.comparisons += 1

    def skip_java_type(self) -> None:
        """Skip a Java type with its type arguments and array brackets."""
        if self.peek.text in {"new", "return"} or self.peek.kind != "name":
            return
        self.position += 1
        while self.peek.text == "." and self.after(1).kind == "name":
            self.position += 2
        if self.peek.text == "<":
            self.skip_generics()
        while self.peek.text == "[" and self.after(1).text == "]":
            self.position += 2

    def parameters(self) -> list[str]:
        """Return parameter names: the name before a colon in Scala, the last word in Java."""
        names, depth, last = [], 0, ""
        while (token := self.take()) is not None:
            text = token.text
            if text == ":" and depth == 1 and not self.is_java:
                names.append(last)
            if self.is_java and depth == 1 and text in {",", ")"} and last:
                names.append(last)
            depth += (text in OPENING or text == "<") - (text in CLOSING or text == ">")
            if depth <= 0:
                break
            last = text if token.kind == "name" else last
        return [each for each in names if each.isidentifier()]

    def condition(self) -> ast.expr:
        """Skip a condition, and return an unknown condition. Equal texts yield equal conditions."""
        line = self.peek.line
        self.position += 1
        start = self.position
        if self.peek.text == "(":
            self.skip_brackets()
        inner = self.tokens[start + 1 : self.position - 1]
        if [token.kind for token in inner] == ["name", "sign", "text"] and inner[1].text in {"==", "!="}:
            operator = ast.Eq() if inner[1].text == "==" else ast.NotEq()
            subject, value = build.name(inner[0].text, line), build.text(inner[2].text, line)
            return build.at(ast.Compare(subject, [operator], [value]), line)
        words = "_".join(token.text for token in self.tokens[start : self.position] if token.kind == "name")
        return build.name(f"_if_{words[:80]}", line)
