"""Parse Scala and Java expressions: calls, lambdas, conditions and blocks."""

import ast
from abc import ABC, abstractmethod

from spark_rtm.lint.jvm import build
from spark_rtm.lint.jvm.build import at
from spark_rtm.lint.jvm.reader import CLOSING, MAX_DEPTH, OPENING, Reader, Token

MAX_CHAIN = 120
TYPES = {"class", "object", "trait", "interface", "enum", "record"}
EXPECTATIONS = {"intercept", "assertThrows", "thrownBy", "assertThatThrownBy", "assertThrowsExactly"}
NO_OPERATORS = OPENING | CLOSING | {",", ";", "=", ".", "@", ":"}
NO_OPERANDS = {"val", "var", "def", "return", "import", "case", "else", "catch", "finally"} | TYPES
CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
INFIX = {"join", "union", "unionByName", "crossJoin", "match"}


class Expressions(Reader, ABC):
    """A parser for expressions. Blocks inside an expression are hoisted before the statement that contains it."""

    @abstractmethod
    def braces(self) -> list[ast.stmt]:
        """Parse the statements in braces."""

    def expression(self) -> ast.expr | None:
        """Parse the next expression, or return None."""
        if self.depth >= MAX_DEPTH:
            if self.peek.text in OPENING:
                self.skip_brackets()
            return None
        self.depth += 1
        value, parts = self._operand(), list[ast.expr]()
        while value is not None and self.peek.kind == "sign" and self.peek.text not in NO_OPERATORS:
            sign = self.take()
            right = self._operand()
            is_key = not self.is_java and isinstance(value, ast.Constant)  # `"key" -> value` in Scala
            if sign is not None and sign.text in {"=>", "->"} and not is_key:
                value = self._lambda(value, right)
            elif sign is not None and sign.text == "->" and right is not None:
                value = at(ast.Tuple([value, right], ast.Load()), value.lineno)
            elif right is not None:
                parts.append(right)
        self.depth -= 1
        return value if value is None or not parts else build.opaque([value, *parts], value.lineno)

    def _lambda(self, value: ast.expr, body: ast.expr | None) -> ast.expr:
        elements = value.elts if isinstance(value, ast.Tuple) else [value]
        names = [each.id for each in elements if isinstance(each, ast.Name)]
        if body is None or len(names) != len(elements):
            return build.opaque([], value.lineno)
        arguments = ast.arguments([], [ast.arg(each) for each in names], None, [], [], None, [])
        return at(ast.Lambda(arguments, body), value.lineno)

    def _operand(self) -> ast.expr | None:
        value = self._primary()
        for _ in range(MAX_CHAIN):
            if value is None:
                return None
            token, last = self.peek, self.after(-1)
            if self._skips_types(token, is_adjacent=token.line == last.line):
                continue
            if token.text == "." and self.after(1).kind == "name":
                self.position += 2
                value = build.attribute(value, self.after(-1).text, self.after(-1).line)
            elif token.line != last.line:
                return value
            elif token.text == "(" or (token.text == "{" and not self.is_java):
                value = self._called(value, last.line)
            elif not self.is_java and token.text in INFIX:
                value = self._infix(value, token)
            else:
                return value
        return value

    def _infix(self, value: ast.expr, token: Token) -> ast.expr:
        """Parse `value join other`, or `value match { ... }`, whose arms become a conditional expression."""
        self.position += 1
        if token.text == "match":
            self.subject = value
            return next(iter(self._block_argument()), build.opaque([value], token.line))
        right = self._primary()
        function = build.attribute(value, token.text, token.line)
        return build.call(function, [right] if right is not None else [], token.line)

    def _skips_types(self, token: Token, *, is_adjacent: bool) -> bool:
        """Skip type arguments, and return whether there were any."""
        start = self.position
        if token.text == "[" and is_adjacent:
            self.skip_brackets()
        elif self.is_java and token.text == "." and self.after(1).text == "<":
            self.position += 1
            self.skip_generics()
        elif self.is_java and token.text == "<":
            self.skip_generics()
            if self.peek.text not in {"(", "."}:
                self.position = start
        return self.position > start

    def _called(self, value: ast.expr, line: int) -> ast.expr:
        count = len(self.hoisted)
        first = self.peek.line
        given = self._arguments() if self.peek.text == "(" else self._block_argument()
        member = value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
        if member in EXPECTATIONS and (self.hoisted[count:] or given):
            body = [*self.hoisted[count:], *[at(ast.Expr(each), each.lineno) for each in given]]
            self.hoisted[count:] = [self.expectation(body, first)]
            return build.name("_expected", line)
        return build.call(value, given, line)

    def expectation(self, body: list[ast.stmt], line: int) -> ast.stmt:
        """Return a `with raises():` statement around statements that must fail."""
        raises = at(ast.Call(build.name("raises", line), [], []), line)
        return at(ast.With([ast.withitem(raises)], body), line, self.last_line())

    def _arguments(self) -> list[ast.expr]:
        self.take("(")
        given: list[ast.expr] = []
        while self.peek.kind != "end" and self.peek.text not in CLOSING:
            start = self.position
            if self.peek.kind == "name" and self.after(1).text == "=":
                self.position += 2  # a named argument in Scala
            value = self.expression()
            if value is not None:
                given.append(value)
            if self.take(":"):
                self.skip_type({",", ")", "=>"})
            if not self.take(",") and self.position == start:
                self.position += 1
        self.take(")")
        return given

    def _block_argument(self) -> list[ast.expr]:
        body = self.braces()
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        self.hoisted += body
        return [last.value] if isinstance(last, ast.Expr) else []

    def _primary(self) -> ast.expr | None:
        while self.peek.text in {"-", "!", "+", "~", "$"}:
            self.position += 1
        token = self.peek
        if token.kind in {"text", "number"}:
            self.position += 1
            is_text = token.kind == "text"
            return build.text(token.text, token.line) if is_text else build.constant(_number(token.text), token.line)
        if token.kind == "name":
            return self._word(token)
        if token.text == "{":
            return next(iter(self._block_argument()), build.opaque([], token.line))
        return self._parentheses(token) if token.text == "(" else None

    def _word(self, token: Token) -> ast.expr | None:
        if token.text in NO_OPERANDS:
            return None
        if token.text == "if":
            test = self.condition()
            body, other = self.expression(), self.expression() if self.take("else") else None
            parts = [each if each is not None else build.opaque([], token.line) for each in (body, other)]
            return at(ast.IfExp(test, parts[0], parts[1]), token.line)
        self.position += 1
        if token.text == "new":
            while self.peek.text == "new":
                self.position += 1
            return self._new(token)
        if token.text in CONSTANTS:
            return build.constant(CONSTANTS[token.text], token.line)
        return build.name(token.text, token.line)

    def _new(self, token: Token) -> ast.expr | None:
        value = self._word(self.peek) if self.peek.kind == "name" else None
        while value is not None and self.peek.text == "." and self.after(1).kind == "name":
            self.position += 2
            value = build.name(self.after(-1).text, token.line)
        if self.peek.text in {"[", "<"}:
            self.skip_brackets() if self.peek.text == "[" else self.skip_generics()
        given = self._arguments() if self.peek.text == "(" else []
        if self.peek.text == "{":
            self.hoisted += self.braces()
        return None if value is None else build.call(value, given, token.line)

    def _parentheses(self, token: Token) -> ast.expr:
        elements = self._arguments()
        is_cast = self.is_java and self.peek.kind in {"name", "text"} and self.peek.line == self.last_line()
        if is_cast and (value := self._operand()) is not None:
            return value
        if len(elements) == 1 and self.peek.text not in {"=>", "->"}:
            return elements[0]
        return at(ast.Tuple(elements, ast.Load()), token.line)


def _number(text: str) -> float:
    digits = text.replace("_", "").rstrip("LlFfDd")
    return float(digits) if "." in digits else int(digits[:18])
