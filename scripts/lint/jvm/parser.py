"""
Parse Scala and Java into a Python syntax tree, as far as the rules need it.

The parser knows declarations, functions, conditions, calls and blocks. It skips what it does not know, so it never fails.
Blocks inside of expressions, such as the body of a test, become statements before the statement that contains them.
"""

from __future__ import annotations

import ast

from scripts.lint.jvm import build
from scripts.lint.jvm.build import at
from scripts.lint.jvm.tokens import Token, tokens_of

MAX_DEPTH = 40
MAX_CHAIN = 120
MODIFIERS = {"private", "public", "protected", "static", "final", "override", "implicit", "lazy", "abstract", "sealed",
             "synchronized", "volatile", "transient", "inline", "open", "throw", "do", "try", "finally", "else", "yield",
             "default", "given", "using", "then"}  # fmt: skip
TYPES = {"class", "object", "trait", "interface", "enum", "record"}
EXPECTATIONS = {"intercept", "assertThrows", "thrownBy", "assertThatThrownBy", "assertThrowsExactly"}
OPENING, CLOSING = {"(", "[", "{"}, {")", "]", "}"}
INFIX = {"join", "union", "unionByName", "crossJoin"}


def parse(code: str, *, is_java: bool) -> ast.Module:
    """Return the code as a Python module."""
    parser = _Parser(tokens_of(code), is_java=is_java)
    body: list[ast.stmt] = []
    while parser.peek.kind != "end":
        body += parser.block()
        parser.position += 1  # a bracket without a partner
    return ast.Module(body, [])


class _Parser:
    def __init__(self, tokens: list[Token], *, is_java: bool) -> None:
        self.tokens = tokens
        self.is_java = is_java
        self.position = 0
        self.depth = 0
        self.hoisted: list[ast.stmt] = []

    @property
    def peek(self) -> Token:
        return self.tokens[min(self.position, len(self.tokens) - 1)]

    def after(self, count: int) -> Token:
        return self.tokens[min(self.position + count, len(self.tokens) - 1)]

    def take(self, text: str = "") -> Token | None:
        """Return the next token and move on, unless another text is wanted."""
        token = self.peek
        if token.kind == "end" or (text and token.text != text):
            return None
        self.position += 1
        return token

    def block(self) -> list[ast.stmt]:
        """Return the statements up to a closing bracket, which stays."""
        statements: list[ast.stmt] = []
        outer, self.hoisted = self.hoisted, []
        while self.peek.kind != "end" and self.peek.text not in CLOSING:
            start = self.position
            found = self.statement()
            statements += [*self.hoisted, *found]
            self.hoisted = []
            if self.position == start:
                self.position += 1
        self.hoisted = outer
        return statements

    def statement(self) -> list[ast.stmt]:
        token = self.peek
        if token.text == "{":
            return self.braces()
        if token.kind == "name":
            special = getattr(self, f"_{token.text}_statement", None)
            if token.text in TYPES:
                return self._type_statement()
            if special is not None:
                found: list[ast.stmt] = special()
                return found
            if token.text in MODIFIERS:
                self.position += 1
                return []
            if self.is_java and (declared := self._java_declaration()) is not None:
                return declared
        if token.text in {"@", ";", ",", "."}:
            self.position += 2 if token.text == "@" else 1
            return []
        return self._expression_statement(token.line)

    def _expression_statement(self, line: int) -> list[ast.stmt]:
        value = self.expression()
        if value is None:
            return []
        if self.take("="):
            right = self.expression()
            if right is None or not isinstance(value, ast.Name):
                return []
            return [self._assign(value.id, right, line)]
        is_put = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "put"
        if isinstance(value, ast.Call) and is_put and len(value.args) == 2 and isinstance(value.func, ast.Attribute):
            target = at(ast.Subscript(value.func.value, value.args[0], ast.Store()), line)
            return [at(ast.Assign([target], value.args[1]), line, self._last_line())]
        return [at(ast.Expr(value), line, self._last_line())]

    def _last_line(self) -> int:
        return self.tokens[max(0, min(self.position, len(self.tokens)) - 1)].line

    def _assign(self, target: str, value: ast.expr, line: int) -> ast.stmt:
        return at(ast.Assign([at(ast.Name(target, ast.Store()), line)], value), line, self._last_line())

    def braces(self) -> list[ast.stmt]:
        """Return the statements in braces."""
        self.take("{")
        if self.depth >= MAX_DEPTH:
            return []
        self.depth += 1
        body = self.block()
        self.depth -= 1
        self.take("}")
        return body

    def _import_statement(self) -> list[ast.stmt]:
        line = self.peek.line
        while self.peek.kind != "end" and self.peek.line == line and self.peek.text != ";":
            self.position += 1
        return []

    _package_statement = _import_statement

    def _case_statement(self) -> list[ast.stmt]:
        line = self.peek.line
        if self.after(1).text in {"class", "object"}:
            self.position += 1
            return []
        while self.peek.kind != "end" and self.peek.line == line and self.peek.text not in {"=>", ":", "->", "{", "}"}:
            self.position += 1
        if self.peek.text in {"=>", ":", "->"}:
            self.position += 1
        return []

    def _type_statement(self) -> list[ast.stmt]:
        line, depth = self.peek.line, 0
        while self.peek.kind != "end":
            text = self.peek.text
            depth += (text in {"(", "["}) - (text in {")", "]"})
            if text == "{" and depth <= 0:
                return self.braces()
            if depth < 0 or text in {"}", ";"} or (depth == 0 and self.peek.line > line + 3):
                return []
            if depth == 0 and self.peek.line != line and text in {"val", "var", "def", "object", "class", "case"}:
                return []
            self.position += 1
        return []

    def _val_statement(self) -> list[ast.stmt]:
        self.position += 1
        token = self.peek
        if token.kind != "name":
            return []
        self.position += 1
        if self.take(":"):
            self._skip_type({"="})
        if not self.take("="):
            return []
        value = self.expression()
        return [] if value is None else [self._assign(token.text, value, token.line)]

    _var_statement = _val_statement

    def _skip_type(self, ends: set[str]) -> None:
        depth = 0
        for _ in range(60):
            text = self.peek.text
            if self.peek.kind == "end" or (depth <= 0 and (text in ends or text in CLOSING)):
                return
            depth += (text in {"[", "(", "<"}) - (text in {"]", ")", ">"})
            self.position += 1

    def _def_statement(self) -> list[ast.stmt]:
        self.position += 1
        token = self.take()
        if token is None or token.kind != "name":
            return []
        if self.peek.text == "[":
            self._skip_brackets()
        names: list[str] = []
        while self.peek.text == "(":
            names += self._parameters()
        if self.take(":"):
            self._skip_type({"=", "{", "}", ";"})
        is_value = self.take("=")
        if self.peek.text == "{":
            return [self._function(token, names, self.braces())]
        value = self.expression() if is_value else None
        before, self.hoisted = self.hoisted, []
        body = [*before, at(ast.Expr(value), value.lineno, self._last_line())] if value is not None else before
        return [self._function(token, names, body)]

    def _function(self, token: Token, names: list[str], body: list[ast.stmt]) -> ast.stmt:
        if body and isinstance(body[-1], ast.Expr):
            body[-1] = at(ast.Return(body[-1].value), body[-1].lineno, body[-1].end_lineno)
        arguments = ast.arguments([], [ast.arg(each) for each in names], None, [], [], None, [])
        body = body or [at(ast.Pass(), token.line)]
        return at(ast.FunctionDef(token.text, arguments, body, []), token.line, self._last_line())

    def _parameters(self) -> list[str]:
        """Return the names of the parameters: those before a colon in Scala, and the last word of each in Java."""
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

    def _skip_brackets(self) -> None:
        depth = 0
        while (token := self.take()) is not None:
            depth += (token.text in OPENING) - (token.text in CLOSING)
            if depth <= 0:
                return

    def _if_statement(self) -> list[ast.stmt]:
        line = self.peek.line
        test = self._condition()
        body = self._branch()
        other = self._branch() if self.take("else") else []
        return [at(ast.If(test, body or [at(ast.Pass(), line)], other), line, self._last_line())]

    def _condition(self) -> ast.expr:
        """Skip `if` and its condition, and return a condition that is unknown but equal for equal text."""
        line = self.peek.line
        self.position += 1
        start = self.position
        if self.peek.text == "(":
            self._skip_brackets()
        words = "_".join(token.text for token in self.tokens[start : self.position] if token.kind == "name")
        return build.name(f"_if_{words[:80]}", line)

    def _branch(self) -> list[ast.stmt]:
        if self.depth >= MAX_DEPTH:
            return []
        self.depth += 1
        outer, self.hoisted = self.hoisted, []
        found = self.braces() if self.peek.text == "{" else self.statement()
        found = [*self.hoisted, *found]
        self.hoisted = outer
        self.depth -= 1
        return found

    def _for_statement(self) -> list[ast.stmt]:
        self.position += 1
        if self.peek.text in {"(", "{"}:
            self._skip_brackets()
        return []

    _while_statement = _catch_statement = _for_statement

    def _return_statement(self) -> list[ast.stmt]:
        line = self.peek.line
        self.position += 1
        value = self.expression()
        return [at(ast.Return(value), line, self._last_line())]

    def _java_declaration(self) -> list[ast.stmt] | None:
        """Return a variable or method of Java if one begins here, or None otherwise."""
        start = self.position
        self._skip_java_type()
        token, following = self.peek, self.after(1)
        if self.position == start or token.kind != "name" or following.text not in {"=", "(", ";"}:
            self.position = start
            return None
        self.position += 1
        if self.take("="):
            value = self.expression()
            return [] if value is None else [self._assign(token.text, value, token.line)]
        if self.take(";"):
            return []
        names = self._parameters()
        while self.peek.kind == "name" or self.peek.text in {",", "."}:  # `throws A, B`
            self.position += 1
        body = self.braces() if self.peek.text == "{" else []
        return [self._function(token, names, body)]

    def _skip_java_type(self) -> None:
        if self.peek.text in {"new", "return"} or self.peek.kind != "name":
            return
        self.position += 1
        while self.peek.text == "." and self.after(1).kind == "name":
            self.position += 2
        if self.peek.text == "<":
            self._skip_generics()
        while self.peek.text == "[" and self.after(1).text == "]":
            self.position += 2

    def _skip_generics(self) -> None:
        start, depth = self.position, 0
        for _ in range(40):
            text = self.peek.text
            depth += (text == "<") - (text == ">")
            if self.peek.kind not in {"name", "sign"} or text in {"(", ";", "{"}:
                break
            self.position += 1
            if depth == 0:
                return
        self.position = start

    def expression(self) -> ast.expr | None:
        """Return the next expression, or None if none begins here."""
        if self.depth >= MAX_DEPTH:
            self._skip_deep()
            return None
        self.depth += 1
        value = self._operand()
        while value is not None and self._is_operator():
            sign = self.take()
            right = self._operand()
            if sign is not None and sign.text in {"=>", "->"} and not self._is_pair(value):
                value = self._lambda(value, right)
            elif sign is not None and sign.text == "->" and right is not None:
                value = at(ast.Tuple([value, right], ast.Load()), value.lineno)
            else:
                value = build.opaque([each for each in (value, right) if each is not None], value.lineno)
        self.depth -= 1
        return value

    def _skip_deep(self) -> None:
        if self.peek.text in OPENING:
            self._skip_brackets()

    def _is_pair(self, value: ast.expr) -> bool:
        return not self.is_java and isinstance(value, ast.Constant | ast.JoinedStr)

    def _is_operator(self) -> bool:
        token = self.peek
        return token.kind == "sign" and token.text not in OPENING | CLOSING | {",", ";", "=", ".", "@", ":"}

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
            token, last = self.peek, self.tokens[self.position - 1]
            is_adjacent = token.line == last.line
            if token.text == "." and self.after(1).kind == "name":
                self.position += 2
                member = self.tokens[self.position - 1]
                value = build.attribute(value, member.text, member.line)
            elif token.text == "." and self.after(1).text == "<" and self.is_java:
                self.position += 1
                self._skip_generics()
            elif token.text == "[" and is_adjacent:
                self._skip_brackets()
            elif token.text == "<" and self.is_java and self._has_type_arguments():
                pass
            elif token.text in {"(", "{"} and is_adjacent and not (token.text == "{" and self.is_java):
                value = self._called(value, last.line)
            elif self._is_infix(token, is_adjacent=is_adjacent):
                self.position += 1
                right = self._primary()
                function = build.attribute(value, token.text, token.line)
                value = build.call(function, [right] if right is not None else [], token.line)
            else:
                return value
        return value

    def _is_infix(self, token: Token, *, is_adjacent: bool) -> bool:
        return not self.is_java and is_adjacent and token.text in INFIX

    def _has_type_arguments(self) -> bool:
        start = self.position
        self._skip_generics()
        if self.position > start and self.peek.text in {"(", "."}:
            return True
        self.position = start
        return False

    def _called(self, value: ast.expr, line: int) -> ast.expr:
        count = len(self.hoisted)
        first = self.peek.line
        given = self._arguments() if self.peek.text == "(" else self._block_argument()
        member = value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
        if member in EXPECTATIONS and (self.hoisted[count:] or given):
            body = [*self.hoisted[count:], *[at(ast.Expr(each), each.lineno) for each in given]]
            raises = at(ast.Call(build.name("raises", first), [], []), first)
            expectation = at(ast.With([ast.withitem(raises)], body), first, self._last_line())
            self.hoisted[count:] = [expectation]
            return build.name("_expected", line)
        return build.call(value, given, line)

    def _arguments(self) -> list[ast.expr]:
        self.take("(")
        given: list[ast.expr] = []
        while self.peek.kind != "end" and self.peek.text not in CLOSING:
            start = self.position
            if self.peek.kind == "name" and self.after(1).text == "=":
                self.position += 2  # a named argument of Scala
            value = self.expression()
            if value is not None:
                given.append(value)
            if self.take(":"):
                self._skip_type({",", ")", "=>"})
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
        token = self.peek
        if token.text in {"-", "!", "+", "~"}:
            self.position += 1
            return self._operand()
        if token.kind == "text":
            self.position += 1
            return build.text(token.text, token.line)
        if token.kind == "number":
            self.position += 1
            return build.constant(_number(token.text), token.line)
        if token.kind == "name":
            return self._word(token)
        if token.text == "$" and self.after(1).kind == "text":
            self.position += 2
            return at(
                ast.Call(build.name("col", token.line), [build.text(self.after(-1).text, token.line)], []), token.line
            )
        if token.text == "{":
            given = self._block_argument()
            return given[0] if given else build.opaque([], token.line)
        if token.text == "(":
            return self._parentheses(token)
        return None

    def _word(self, token: Token) -> ast.expr | None:
        if token.text in {"val", "var", "def", "return", "import", "case", "else", "catch", "finally", *TYPES}:
            return None
        if token.text == "if":
            test = self._condition()
            body, other = self.expression(), self.expression() if self.take("else") else None
            parts = [each if each is not None else build.opaque([], token.line) for each in (body, other)]
            return at(ast.IfExp(test, parts[0], parts[1]), token.line)
        self.position += 1
        if token.text == "new":
            return self._new(token)
        words: dict[str, bool | None] = {"true": True, "false": False, "null": None}
        if token.text in words:
            return build.constant(words[token.text], token.line)
        return build.name(token.text, token.line)

    def _new(self, token: Token) -> ast.expr | None:
        value = self._word(self.peek) if self.peek.kind == "name" else None
        while value is not None and self.peek.text == "." and self.after(1).kind == "name":
            self.position += 2
            value = build.name(self.after(-1).text, token.line)
        if self.peek.text in {"[", "<"}:
            self._skip_brackets() if self.peek.text == "[" else self._skip_generics()
        given = self._arguments() if self.peek.text == "(" else []
        if self.peek.text == "{":
            self.hoisted += self.braces()
        return None if value is None else build.call(value, given, token.line)

    def _parentheses(self, token: Token) -> ast.expr:
        elements = self._arguments()
        is_cast = self.is_java and self.peek.kind in {"name", "text"} and self.peek.line == self._last_line()
        if is_cast and (value := self._operand()) is not None:
            return value
        if len(elements) == 1 and self.peek.text not in {"=>", "->"}:
            return elements[0]
        return at(ast.Tuple(elements, ast.Load()), token.line)


def _number(text: str) -> float:
    digits = text.replace("_", "").rstrip("LlFfDd")
    return float(digits) if "." in digits else int(digits[:18])
