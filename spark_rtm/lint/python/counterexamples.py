"""Recognize marks that label code or text as a counterexample, and comments that silence rules."""

import ast
import re
from collections.abc import Iterator

from spark_rtm.text.lines import numbered

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
EXPECT = re.compile(r"expect:\s*[\w, -]+")
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
MAX_COMMENT = 2000
"""Number of characters at the start of a comment that can mark code as wrong."""


def is_wrong_comment(text: str) -> bool:
    """Return whether a comment calls the code on its line or below it wrong."""
    text = EXPECT.sub("", text[:MAX_COMMENT])
    if IGNORE.search("#" + text):
        return False
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
    marked |= lines_below_comments(code.splitlines(), comment_lines, is_excerpt=is_excerpt)
    return _whole_statements(tree, marked)


def _comments(code: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the line number and text of each comment, and whether the comment is alone on its line."""
    for number, match in numbered(STRING_OR_COMMENT, code):
        if match["comment"]:
            start = match.start()
            is_alone = not code[code.rfind("\n", 0, start) + 1 : start].strip()
            yield number, match["comment"].lstrip("#").strip(), is_alone


def lines_below_comments(lines: list[str], comments: dict[int, str], *, is_excerpt: bool) -> set[int]:
    """
    Return the lines of code that comments on separate lines mark as wrong.

    Such a comment covers the code below it up to the next blank line.
    In an excerpt, the comment covers all lines up to the next comment that marks code as correct.
    """
    wrong = {number for number, text in comments.items() if is_wrong_comment(text)}
    right = {number for number, text in comments.items() if is_right_comment(text)} - wrong
    # A comment with a sign that points up, or with only an error condition, also covers the line above it.
    marked = {number - 1 for number in wrong if _points_up(comments[number], is_first=number - 1 not in comments)}
    last_right, is_marking = max(right, default=0), False
    for number, line in enumerate(lines, 1):
        is_end = number in right or (not line.strip() and not (is_excerpt and number < last_right))
        is_marking &= number in wrong or not is_end
        if is_marking:
            marked.add(number)
        is_marking |= number in wrong
    return marked


def _points_up(comment: str, *, is_first: bool) -> bool:
    is_condition = CONDITION.search(comment) is not None and not COMMENT_WRONG.search(comment)
    return comment.startswith(("->", "=>", "\u2192", "^")) or (is_condition and is_first)


def _whole_statements(tree: ast.Module, marked: set[int]) -> set[int]:
    lines = set(marked)
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.stmt):
            continue
        span = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        if _is_wrong_statement(statement, marked, span):
            lines.update(span)
    return lines


def _is_wrong_statement(node: ast.stmt, marked: set[int], span: range) -> bool:
    """
    Return whether a statement is marked as wrong.

    A compound statement is marked by its name, by `raises` or by a comment on its first line.
    Any other statement is marked by a comment on any of its lines.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        doc = ast.get_docstring(node, clean=True) or ""
        is_named = WRONG_NAME.search(node.name) or COMMENT_WRONG.search(doc.split("\n")[0])
        return bool(is_named) or node.lineno in marked
    if isinstance(node, ast.With | ast.AsyncWith):
        headers = " ".join(ast.unparse(item.context_expr) for item in node.items)
        return bool(re.search(r"\braises\(|assertRaises|suppress\(", headers)) or node.lineno in marked
    if isinstance(node, ast.If | ast.For | ast.While | ast.Try):
        return node.lineno in marked
    return bool(marked.intersection(span))


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
