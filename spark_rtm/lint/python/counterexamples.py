"""
Recognize marks that label code or text as a counterexample, and comments that silence rules.

Documentation must be able to show mistakes, so the linter does not report code marked as wrong.
"""

import ast
import re
from collections.abc import Iterator

CONDITION = re.compile(r"\b(?:[A-Z][A-Z0-9]+_){2,}[A-Z0-9]+\b|\b\w+(?:Exception|Error)\b")
SIGN = re.compile(r"[\u274c\u2717\u2718\u26d4\U0001f6ab\u2716]|&#10060;|:x:|:no_entry")
RIGHT_SIGN = re.compile(r"[\u2705\u2713\u2714]|:white_check_mark:|:heavy_check_mark:")
WRONG = re.compile(
    r"\b(?:wrong|bad|incorrect|invalid|broken|anti-?patterns?|counter-?examples?|mistakes?|pitfalls?|"
    r"not (?:supported|allowed|valid|accepted|work(?:ing)?|possible)|unsupported|won'?t work|(?:does|"
    r"do|will|can)(?: not|n'?t|not) "
    r"(?:work|run|start|exist|accept|support|use|write|set|pass|call|combine|enable|do)|cannot|can't|"
    r"never|avoid|fails?|failed|failing|"
    r"raises?|throws?|refuse[sd]?|reject(?:s|ed)?|errors?|forbidden|illegal|misuse|outdated|obsolete|stale|"
    r"no longer|instead of|rather than|don'?t|do not|must not|should not|shouldn'?t|not)\b",
    re.IGNORECASE,
)
MARKER = (
    r"(?:wrong|bad|incorrect|invalid|broken|anti-?pattern|counter-?example|mistake|before|avoid|refused|rejected|error|"
    r"forbidden|old|(?:not |un)supported|not (?:allowed|valid|ok))\b\s*(?:[:!,.;\-\u2013\u2014(#]|$|"
    r"(?:this|using|example|code|way|idea|practice|usage|trigger|mode|sink|source|version|by|in|here|on|at|with|for)\b)"
)
COMMENT_WRONG = re.compile(
    r"^\W*(?:this (?:is |would |will |line |query )?)?(?:is |the )?(?:"
    + MARKER
    + r"|fails?\b|will fail|would fail|must fail|"
    r"raises?\b|throws?\b|(?:do not|don'?t|never) (?:do|use|write|set|pass|call|try|combine|copy|start|run)\b|"
    r"does(?: not|n'?t) (?:work|run|start)|won'?t (?:work|run|start)|expected (?:error|failure))",
    re.IGNORECASE,
)
COMMENT_WRONG_INSIDE = re.compile(
    r"\b(?:is|are|be|gets?) (?:wrong|refused|rejected|invalid|unsupported|not supported|not allowed)\b|"
    r"(?:->|=>|\u2192|\u2190|<-)\s*(?:wrong|bad|fails?|raises?|error|refused|rejected)|\b(?:raises|"
    r"throws|fails with)\b|\bwrong\b",
    re.IGNORECASE,
)
RIGHT = re.compile(
    r"^\W*(?:right|correct(?:ed|ly)?|good|fix(?:ed)?|do\b(?! not)|use\b|works?|after|better|instead|"
    r"valid|ok(?:ay)?|new|solution|recommended|preferred)\b",
    re.IGNORECASE,
)
LEAD_RIGHT = re.compile(
    r"\b(?:instead|fix(?:ed|es)?|correct|right|works|good|use this|do this|solution|recommended|becomes|write)\b",
    re.IGNORECASE,
)
WRONG_NAME = re.compile(
    r"(?:^|_)(?:bad|wrong|broken|incorrect|invalid|refused|rejected|fails|raises|antipattern|unsupported)(?:_|$)",
    re.IGNORECASE,
)
STRING_OR_COMMENT = re.compile(
    r'"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+"""|"(?:[^"\\\n]|\\.)*+"|'
    r"'''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+'''|'(?:[^'\\\n]|\\.)*+'|(?P<comment>#[^\n]*)",
    re.DOTALL,
)
IGNORE = re.compile(r"(?:#|//|<!--|--)\s*rtm:\s*ignore(?:\[(?P<rules>[\w\s,*-]+)\])?", re.IGNORECASE)
FILE_IGNORE = re.compile(
    r"^[^\S\n]*(?:#|//|<!--|--)[^\S\n]*rtm:[^\S\n]*file-ignore\[(?P<rules>[\w\s,*-]+)\]", re.IGNORECASE | re.MULTILINE
)
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
MAX_COMMENT = 2000
"""Number of characters at the start of a comment that can mark code as wrong."""
EXPECTING = re.compile(r"raises|xfail|suppress|exception\(|intercept|throws|thrownBy|expected", re.IGNORECASE)
"""Words in code that expects a failure. Other code needs no search."""
EXPECTATIONS = {"raises", "assertRaises", "assertRaisesRegex", "suppress"}


def is_wrong_comment(text: str) -> bool:
    """Return whether a comment calls the code on its line or below it wrong."""
    text = text[:MAX_COMMENT]
    return bool(
        COMMENT_WRONG.search(text) or COMMENT_WRONG_INSIDE.search(text) or CONDITION.search(text) or SIGN.search(text)
    ) and not RIGHT_SIGN.search(text)


def is_right_comment(text: str) -> bool:
    """Return whether a comment calls the code below it correct."""
    return bool(RIGHT.search(text) or RIGHT_SIGN.search(text)) and not SIGN.search(text)


def is_wrong_lead(text: str) -> bool:
    """Return whether the line before a fence calls its code wrong."""
    if re.match(r"\W*before\b[^:]{0,20}:", text, re.IGNORECASE):
        return True
    is_wrong = SIGN.search(text) or WRONG.search(text) or CONDITION.search(text)
    without_negations = re.sub(r"(?:\bnot|n't|\bnever) (?:right|correct|work|write|use|do)\b(?: this)?", "", text)
    return bool(is_wrong) and not RIGHT_SIGN.search(text) and not LEAD_RIGHT.search(without_negations)


def counterexample_lines(code: str, tree: ast.Module, *, is_excerpt: bool) -> set[int]:
    """Return the lines that comments, names or `pytest.raises` mark as counterexamples."""
    marked: set[int] = set()
    comment_lines: dict[int, str] = {}
    for number, text, is_alone in _comments(code):
        if is_alone:
            comment_lines[number] = text
        elif is_wrong_comment(text):
            marked.add(number)
    marked |= _below_comments(code.splitlines(), comment_lines, is_excerpt=is_excerpt)
    return _whole_statements(tree, marked)


def _comments(code: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the line number and text of each comment, and whether the comment is alone on its line."""
    number, position = 1, 0
    for match in STRING_OR_COMMENT.finditer(code):
        if match["comment"]:
            start = match.start()
            number += code.count("\n", position, start)
            position = start
            is_alone = not code[code.rfind("\n", 0, start) + 1 : start].strip()
            yield number, match["comment"].lstrip("#").strip(), is_alone


def _below_comments(lines: list[str], comments: dict[int, str], *, is_excerpt: bool) -> set[int]:
    """
    Return the lines of comments that call code wrong, and of the code below them up to a blank line.

    If an excerpt has a later comment that calls code correct, they extend to that comment.
    """
    marked: set[int] = set()
    is_wrong = False
    last_right = max((number for number, text in comments.items() if is_right_comment(text)), default=0)
    for number, line in enumerate(lines, 1):
        comment = comments.get(number, "")
        if is_wrong_comment(comment):
            is_wrong = True
        elif is_right_comment(comment) or (not line.strip() and not (is_excerpt and number < last_right)):
            is_wrong = False
        if is_wrong:
            marked.add(number)
    return marked


def _whole_statements(tree: ast.Module, marked: set[int]) -> set[int]:
    """Add the lines of statements with a mark. A compound statement needs it on its first line, or in its name."""
    lines = set(marked)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            is_compound = isinstance(node, DEFINITIONS | ast.With | ast.If | ast.For | ast.While | ast.Try)
            if not marked.isdisjoint([node.lineno] if is_compound else span) or _is_named_wrong(node):
                lines.update(span)
    return lines


def _is_named_wrong(node: ast.stmt) -> bool:
    if not isinstance(node, DEFINITIONS):
        return False
    title = (ast.get_docstring(node) or "").partition("\n")[0]
    return bool(WRONG_NAME.search(node.name) or COMMENT_WRONG.search(title))


def silenced_lines(text: str) -> dict[int, set[str]]:
    """Map each line to the rule ids that a comment silences there. `*` means all rules."""
    silenced: dict[int, set[str]] = {}
    for number, line in enumerate(text.splitlines() if "rtm:" in text.lower() else (), 1):
        if match := IGNORE.search(line):
            silenced[number] = {rule.strip() for rule in (match["rules"] or "*").split(",")}
            if line.lstrip().startswith(("#", "//", "<!--", "--")):  # alone on its line, it covers the next line
                silenced[number + 1] = silenced[number] | silenced.get(number + 1, set())
    return silenced


def silenced_in_file(text: str) -> set[str]:
    """Return the rule ids that comments `rtm: file-ignore[rule]` silence."""
    return {rule.strip() for match in FILE_IGNORE.finditer(text) for rule in match["rules"].split(",")}


def expected_failures(tree: ast.Module, code: str) -> set[int]:
    """
    Return the lines of the statements that build an expected failure.

    A query can be built in one statement and fail in another: `query.awaitTermination()` in `with pytest.raises(...)`.
    """
    if not EXPECTING.search(code):
        return set()
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    lines: set[int] = set()
    for scope in [tree, *functions.values()]:
        expectations = list(_expectations(scope))
        names = {name for part in expectations for name in _names(part)}
        for part in expectations:
            lines |= _lines(part)
        built, used = _assignments(scope, names)
        lines |= built
        for name in (names | used) & functions.keys():
            lines |= _lines(functions[name])
    for function in functions.values():
        if any("xfail" in ast.unparse(decorator) for decorator in function.decorator_list):
            lines |= _lines(function)
    return lines


def _expectations(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield bodies of `with raises(...)`, and asserted exceptions."""
    for node in _nodes(scope):
        if isinstance(node, ast.With) and any(_called(each.context_expr) in EXPECTATIONS for each in node.items):
            yield from node.body
        elif isinstance(node, ast.Assert) and any(_called(each) == "exception" for each in ast.walk(node.test)):
            yield node.test


def _nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module or a function, the last one first, except nodes of nested functions."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)


def _called(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _lines(node: ast.AST) -> set[int]:
    first = getattr(node, "lineno", 1)
    return set(range(first, (getattr(node, "end_lineno", first) or first) + 1))


def _assignments(scope: ast.AST, names: set[str]) -> tuple[set[int], set[str]]:
    """Return the lines of all assignments that the names depend on, and the names of all functions."""
    lines, used, known = set[int](), set[str](), set(names)
    for node in _nodes(scope):  # the last one first
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(_names(target) & known for target in targets):
                lines |= _lines(node)
                used |= {_called(each) for each in ast.walk(node.value) if isinstance(each, ast.Call)}
                known |= _names(node.value)
    return lines, used
