"""Find the lines that comments, names and docstrings mark as wrong examples, or that a test expects to fail."""

import ast
import re
from collections.abc import Iterator

from spark_rtm.lint.marks import Marks, is_right, is_wrong
from spark_rtm.text import numbered

EXPECTATIONS = {"raises", "assertRaises", "assertRaisesRegex", "suppress"}
EXPECTS = re.compile(r"raises|xfail|assertRaises|suppress|\.exception\(|intercept|assertThrows|[Tt]hrownBy|expected")
"""Pattern for words in tests that expect a failure, including Scala and Java. Code without a match is not searched."""
WRONG_NAME = re.compile(
    r"^_?(?:bad|wrong|incorrect|anti_?pattern|counter_?example)(?:_|$)|_(?:bad|wrong)$", re.IGNORECASE
)
STRING_OR_COMMENT = re.compile(
    r'"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+"""|"(?:[^"\\\n]|\\.)*+"|'
    r"'''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+'''|'(?:[^'\\\n]|\\.)*+'|(?P<comment>#[^\n]*)",
    re.DOTALL,
)


def python_marks(code: str, tree: ast.Module, *, is_excerpt: bool) -> Marks:
    """Return the marks for wrong examples in Python code."""
    alone: dict[int, str] = {}
    beside: dict[int, str] = {}
    for number, text, is_alone in _comments(code):
        (alone if is_alone else beside)[number] = text
    return marks_of(code, tree, alone, beside, is_excerpt=is_excerpt)


def marks_of(code: str, tree: ast.Module, alone: dict[int, str], beside: dict[int, str], *, is_excerpt: bool) -> Marks:
    """Return the marks from comments alone on their lines, comments at the end of lines, and expected failures."""
    wrong_beside = {number: text for number, text in beside.items() if is_wrong(text)}
    below = _below_comments(code.splitlines(), alone, is_excerpt=is_excerpt)
    marks = Marks(wrong_beside | below, dict.fromkeys(expected_failures(tree, code), ""))
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt):
            last = statement.end_lineno or statement.lineno
            mark = _mark_of(statement, last, wrong_beside, below)
            if mark is not None:
                marks.statements.update(dict.fromkeys(range(statement.lineno, last + 1), mark))
    return marks


def _comments(code: str) -> Iterator[tuple[int, str, bool]]:
    """Yield each comment's line number and text, and whether the comment is alone on its line."""
    for number, match in numbered(STRING_OR_COMMENT, code):
        if match["comment"]:
            start = match.start()
            is_alone = not code[code.rfind("\n", 0, start) + 1 : start].strip()
            yield number, match["comment"].lstrip("#").strip(), is_alone


def _below_comments(lines: list[str], comments: dict[int, str], *, is_excerpt: bool) -> dict[int, str]:
    """
    Return the lines of code that comments on separate lines mark as wrong.

    The comment covers the code below it, up to the next blank line.
    In an excerpt, the comment covers all lines up to the next comment that marks code as correct.
    """
    wrong = {number: text for number, text in comments.items() if is_wrong(text)}
    right = {number for number, text in comments.items() if is_right(text)} - wrong.keys()
    # A comment with an upward arrow also covers the line above it.
    marked = {number - 1: text for number, text in wrong.items() if text.startswith(("->", "=>", "\u2192", "^"))}
    last_right, mark = max(right, default=0), ""
    for number, line in enumerate(lines, 1):
        is_end = number in right or (not line.strip() and not (is_excerpt and number < last_right))
        mark = wrong.get(number, "" if is_end else mark)
        if mark:
            marked[number] = mark
    return marked


def _mark_of(node: ast.stmt, last: int, beside: dict[int, str], below: dict[int, str]) -> str | None:
    """
    Return the mark that covers a whole statement, or None.

    A compound statement is marked by its name, its docstring, or a comment above or at the end of its first line. Any
    other statement is also marked by a comment at the end of its last line, or by an upward arrow below it.
    """
    mark = below.get(node.lineno, beside.get(node.lineno))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        doc = (ast.get_docstring(node, clean=True) or "").split("\n")[0]
        return node.name if WRONG_NAME.search(node.name) else doc if is_wrong(doc) else mark
    if isinstance(node, ast.With | ast.AsyncWith | ast.If | ast.For | ast.While | ast.Try):
        return mark
    return mark if mark is not None else below.get(last, beside.get(last))


def expected_failures(tree: ast.Module, code: str) -> set[int]:
    """Return the lines of statements that lead to an expected failure, even outside `with pytest.raises(...)`."""
    if not EXPECTS.search(code):
        return set()
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    lines: set[int] = set()
    for scope in [tree, *functions.values()]:
        expectations = list(_expectations(scope))
        names = {name for part in expectations for name in _names(part)}
        assignments = [node for node in _nodes(scope) if isinstance(node, ast.Assign)]
        for node in reversed(assignments if expectations else []):  # names lead to earlier assignments
            if any(_names(target) & names for target in node.targets):
                expectations.append(node)
                names |= _names(node.value)
        expectations += [functions[name] for name in names & functions.keys() if expectations]
        lines = lines.union(*map(_lines, expectations))
    xfail = [each for each in functions.values() if any("xfail" in ast.unparse(one) for one in each.decorator_list)]
    return lines.union(*map(_lines, xfail))


def _expectations(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the bodies of `with raises(...)`, the functions of `raises(error, function)`, and asserted exceptions."""
    for node in _nodes(scope):
        if isinstance(node, ast.With | ast.AsyncWith) and any(
            _called(each.context_expr) in EXPECTATIONS for each in node.items
        ):
            yield from node.body
        elif isinstance(node, ast.Call) and _called(node) in EXPECTATIONS and len(node.args) > 1:
            yield from node.args[1:]
        elif isinstance(node, ast.Assert) and any(_called(each) == "exception" for each in ast.walk(node.test)):
            yield node.test


def _nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module or function in source order, except nodes of nested functions."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _nodes(node)


def _called(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _lines(node: ast.AST) -> set[int]:
    first = getattr(node, "lineno", 1)
    return set(range(first, (getattr(node, "end_lineno", first) or first) + 1))
