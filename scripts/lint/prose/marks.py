"""
What marks code or text as a counterexample, and comments that silence a rule.

What arrives are comments, headings, lead-in lines and table headers; what leaves are the lines that are shown as wrong.
Real-time mode has many refusals, and whoever explains one must be able to show it.
"""

import ast
import io
import re
import tokenize

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
IGNORE = re.compile(r"(?:#|//|<!--)\s*rtm:\s*ignore(?:\[(?P<rules>[\w\s,*-]+)\])?", re.IGNORECASE)
EXPECT = re.compile(r"expect:\s*[\w, -]+")
WRONG_NAME = re.compile(
    r"(?:^|_)(?:bad|wrong|broken|incorrect|invalid|refused|rejected|fails|raises|antipattern|unsupported)(?:_|$)",
    re.IGNORECASE,
)


def is_wrong_comment(text: str) -> bool:
    """Tell whether a comment says that the code beside or below it is wrong."""
    text = EXPECT.sub("", text)
    if IGNORE.search("#" + text):
        return False
    return bool(
        COMMENT_WRONG.search(text) or COMMENT_WRONG_INSIDE.search(text) or CONDITION.search(text) or SIGN.search(text)
    ) and not RIGHT_SIGN.search(text)


def is_right_comment(text: str) -> bool:
    """Tell whether a comment says that the code below it is right."""
    return bool(RIGHT.search(text) or RIGHT_SIGN.search(text)) and not SIGN.search(text)


def is_wrong_title(text: str) -> bool:
    """Tell whether a heading, a table's column or a lead-in line announces what is wrong."""
    if RIGHT_SIGN.search(text):
        return False
    return bool(SIGN.search(text) or WRONG.search(text) or CONDITION.search(text))


def is_wrong_lead(text: str) -> bool:
    """Tell whether the line before a fence announces wrong code."""
    if re.match(r"\W*before\b[^:]{0,20}:", text, re.IGNORECASE):
        return True
    return is_wrong_title(text) and not LEAD_RIGHT.search(
        re.sub(r"(?:\bnot|n't|\bnever) (?:right|correct|work|write|use|do)\b(?: this)?", "", text)
    )


def ignored(lines: list[str]) -> dict[int, set[str]]:
    """Return the rules that each line silences; `*` stands for all."""
    found = {}
    for number, line in enumerate(lines, 1):
        match = IGNORE.search(line)
        if match:
            found[number] = {rule.strip() for rule in (match["rules"] or "*").split(",")}
            if line.lstrip().startswith(("#", "//", "<!--")):  # on a line of its own it is about the next one
                found[number + 1] = found[number] | found.get(number + 1, set())
    return found


def wrong_lines(code: str, tree: ast.Module, *, is_excerpt: bool) -> set[int]:
    """Return the lines of code that comments, names or `pytest.raises` show as wrong."""
    marked, own = set(), {}
    lines = code.splitlines()
    for number, text, stands_alone in _comments(code):
        if stands_alone:
            own[number] = text
        elif is_wrong_comment(text):
            marked.add(number)
    marked |= _below_comments(lines, own, is_excerpt=is_excerpt)
    return _whole_statements(tree, marked)


def _comments(code: str) -> list[tuple[int, str, bool]]:
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.COMMENT:
                stands_alone = not token.line[: token.start[1]].strip()
                found.append((token.start[0], token.string.lstrip("#").strip(), stands_alone))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass  # the comments until here
    return found


def _below_comments(lines: list[str], own: dict[int, str], *, is_excerpt: bool) -> set[int]:
    """Return the lines under a wrong comment: its paragraph, or in an excerpt all until the next right one."""
    marked: set[int] = set()
    rights = [number for number, text in own.items() if is_right_comment(text) and not is_wrong_comment(text)]
    for number, text in own.items():
        if not is_wrong_comment(text):
            continue
        is_below = text.startswith(("->", "=>", "\u2192", "^"))
        if is_below or (CONDITION.search(text) and not COMMENT_WRONG.search(text) and number - 1 not in own):
            marked.add(number - 1)
        right = next((each for each in rights if each > number), None)
        for line in range(number + 1, len(lines) + 1):
            is_far = right is not None if is_excerpt else False
            if (right is not None and line >= right) or (not lines[line - 1].strip() and not is_far):
                break
            marked.add(line)
    return marked


def _whole_statements(tree: ast.Module, marked: set[int]) -> set[int]:
    found = set(marked)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            if _is_wrong_statement(node, marked, span):
                found.update(span)
    return found


def _is_wrong_statement(node: ast.stmt, marked: set[int], span: range) -> bool:
    """Tell whether a statement is shown as wrong: a block by first line, name or `raises`, another by any line."""
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
