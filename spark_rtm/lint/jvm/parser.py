"""Parse Scala and Java calls and blocks into a Python syntax tree. The parser skips other code and never fails."""

import ast
from collections.abc import Callable

from spark_rtm.lint.jvm.build import at, name, text
from spark_rtm.lint.jvm.expressions import TYPES, Expressions
from spark_rtm.lint.jvm.reader import CLOSING, MAX_DEPTH, Token, tokens_of
from spark_rtm.lint.problem import check_tokens

MAX_TOKENS = 300_000
Arm = tuple[ast.expr, list[ast.stmt]]
"""A `match` or `switch` arm: its condition and its statements."""
MODIFIERS = {"private", "public", "protected", "static", "final", "override", "implicit", "lazy", "abstract", "sealed",
             "synchronized", "volatile", "transient", "inline", "open", "throw", "do", "try", "finally", "else",
             "yield", "default", "given", "using", "then"}  # fmt: skip
SKIPPED = MODIFIERS | {"@", ";", ",", "."}


def parse(code: str, *, is_java: bool) -> ast.Module:
    """Return Scala or Java code as a Python module."""
    tokens = tokens_of(code)
    check_tokens(len(tokens), MAX_TOKENS)
    parser = _Parser(tokens, is_java=is_java)
    body: list[ast.stmt] = []
    while parser.peek.kind != "end":
        body += parser.block()
        parser.position += 1  # an unmatched bracket
    return ast.Module(body, [])


class _Parser(Expressions):
    def block(self, ends: Callable[[], bool] = lambda: False) -> list[ast.stmt]:
        """Parse statements up to a closing bracket, which is not consumed, or until `ends` is true."""
        statements: list[ast.stmt] = []
        outer, self.hoisted = self.hoisted, []
        while self.peek.kind != "end" and self.peek.text not in CLOSING and not ends():
            start = self.position
            found = self.statement()
            statements += [*self.hoisted, *found]
            self.hoisted = []
            if self.position == start:
                self.position += 1
        self.hoisted = outer
        return statements

    def statement(self) -> list[ast.stmt]:
        """Parse the next statement."""
        token = self.peek
        if token.text == "{":
            return self.braces()
        if token.text in SKIPPED:
            self.position += 2 if token.text == "@" else 1
            if self.peek.text == "[":  # `private[this]`
                self.skip_brackets()
            self.expects_failure |= token.text == "@" and [self.peek.text, self.after(1).text] == ["(", "expected"]
            return []
        if token.kind == "name":
            kind = "type" if token.text in TYPES and self.after(1).kind == "name" else token.text
            special: Callable[[], list[ast.stmt]] | None = getattr(self, f"_{kind}_statement", None)
            if special is not None:
                return special()
            if self.is_java and (declared := self._java_declaration()) is not None:
                return declared
        return self._expression_statement(token.line)

    def _expression_statement(self, line: int) -> list[ast.stmt]:
        value = self.expression()
        if value is None:
            return []
        if self.take("="):
            right = self.expression()
            if right is not None and isinstance(value, ast.Name):
                return [self._assign(value.id, right, line)]
            return [] if right is None else [at(ast.Expr(right), line, self.last_line())]
        match value:
            case ast.Call(ast.Attribute(table, "put"), [key, content]):
                target = at(ast.Subscript(table, key, ast.Store()), line)
                return [at(ast.Assign([target], content), line, self.last_line())]
        return [at(ast.Expr(value), line, self.last_line())]

    def _assign(self, target: str, value: ast.expr, line: int) -> ast.stmt:
        return at(ast.Assign([at(ast.Name(target, ast.Store()), line)], value), line, self.last_line())

    def braces(self) -> list[ast.stmt]:
        """Parse the statements in braces."""
        self.take("{")
        if self.depth >= MAX_DEPTH:
            return []
        self.depth += 1
        body = self._arms() if self._is_case() else self.block()
        self.depth -= 1
        self.take("}")
        return body

    def _is_case(self) -> bool:
        is_default = self.peek.text == "default" and self.after(1).text in {":", "->"}
        return is_default or (self.peek.text == "case" and self.after(1).text not in {"class", "object"})

    def _arms(self) -> list[ast.stmt]:
        """Parse `match` or `switch` arms as branches with unknown conditions."""
        arms: list[Arm] = []
        subject, self.subject = self.subject, None
        while self._is_case():
            token, pattern = self.peek, self.after(1)
            self._skip_pattern()
            is_constant = isinstance(subject, ast.Name) and pattern.kind == "text" and self.after(-2) == pattern
            test: ast.expr = name(f"_arm_{token.line}", token.line)
            if is_constant and subject is not None:
                value = text(pattern.text, token.line)
                test = at(ast.Compare(subject, [ast.Eq()], [value]), token.line)
            arms.append((test, self.block(ends=self._is_case)))
        return _as_branches(arms)

    def _import_statement(self) -> list[ast.stmt]:
        line = self.peek.line
        while self.peek.kind != "end" and self.peek.line == line and self.peek.text != ";":
            self.position += 1
        return []

    _package_statement = _import_statement

    def _case_statement(self) -> list[ast.stmt]:
        if self.after(1).text in {"class", "object"}:
            self.position += 1
        else:
            self._skip_pattern()
        return []

    def _skip_pattern(self) -> None:
        line = self.peek.line
        while self.peek.kind != "end" and self.peek.line == line and self.peek.text not in {"=>", ":", "->", "{", "}"}:
            self.position += 1
        if self.peek.text in {"=>", ":", "->"}:
            self.position += 1

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
            self.skip_type({"="})
        if not self.take("="):
            return []
        value = self.expression()
        return [] if value is None else [self._assign(token.text, value, token.line)]

    _var_statement = _val_statement

    def _def_statement(self) -> list[ast.stmt]:
        self.position += 1
        token = self.take()
        if token is None or token.kind != "name":
            return []
        if self.peek.text == "[":
            self.skip_brackets()
        names: list[str] = []
        while self.peek.text == "(":
            names += self.parameters()
        if self.take(":"):
            self.skip_type({"=", "{", "}", ";"})
        value = self.expression() if self.take("=") or self.peek.text == "{" else None
        before, self.hoisted = self.hoisted, []
        body = [*before, at(ast.Expr(value), value.lineno, self.last_line())] if value is not None else before
        return [self._function(token, names, body)]

    def _function(self, token: Token, names: list[str], body: list[ast.stmt]) -> ast.stmt:
        if body and isinstance(body[-1], ast.Expr):
            body[-1] = at(ast.Return(body[-1].value), body[-1].lineno, body[-1].end_lineno)
        arguments = ast.arguments([], [ast.arg(each) for each in names], None, [], [], None, [])
        body = body or [at(ast.Pass(), token.line)]
        if self.expects_failure:  # `@Test(expected = AnalysisException.class)`
            body = [self.expectation(body, token.line)]
            self.expects_failure = False
        return at(ast.FunctionDef(token.text, arguments, body, []), token.line, self.last_line())

    def _if_statement(self) -> list[ast.stmt]:
        line = self.peek.line
        test = self.condition()
        body = self._branch()
        other = self._branch() if self.take("else") else []
        return [at(ast.If(test, body or [at(ast.Pass(), line)], other), line, self.last_line())]

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
            self.skip_brackets()
        return []

    _while_statement = _catch_statement = _for_statement

    def _return_statement(self) -> list[ast.stmt]:
        line = self.peek.line
        self.position += 1
        value = self.expression()
        return [at(ast.Return(value), line, self.last_line())]

    def _java_declaration(self) -> list[ast.stmt] | None:
        start = self.position
        self.skip_java_type()
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
        names = self.parameters()
        while self.peek.kind == "name" or self.peek.text in {",", "."}:  # `throws A, B`
            self.position += 1
        body = self.braces() if self.peek.text == "{" else []
        return [self._function(token, names, body)]


def _as_branches(arms: list[Arm]) -> list[ast.stmt]:
    """Return `if` statements with one branch per arm, or a conditional expression if each arm is a single value."""
    values = [body[-1].value for _, body in arms if body and isinstance(body[-1], ast.Expr)]
    if len(arms) > 1 and len(values) == len(arms) == sum(len(body) for _, body in arms):
        chosen = values[-1]
        for (test, _), value in reversed([*zip(arms[:-1], values[:-1], strict=True)]):
            chosen = at(ast.IfExp(test, value, chosen), test.lineno)
        return [at(ast.Expr(chosen), arms[0][0].lineno, chosen.end_lineno)]
    branches: list[ast.stmt] = []
    for test, body in reversed(arms):
        line = test.lineno
        last = body[-1].end_lineno if body else line
        branches = [at(ast.If(test, body or [at(ast.Pass(), line)], branches), line, last)]
    return branches
