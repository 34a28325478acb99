"""
Fix Python code where exactly one fix is safe: the form of a trigger, and the output mode.

Each of these mistakes makes a query fail, so a fix cannot alter a running query's results. All other characters in a
file stay the same, including line endings and the byte order mark.
"""

import difflib
import re
from pathlib import Path

from spark_rtm.lint.engine import lint_text
from spark_rtm.lint.python.excerpt import tree_of
from spark_rtm.lint.rules.source import ADD_UPDATE, WRITE_UPDATE
from spark_rtm.lint.settings import Settings
from spark_rtm.lint.sources import normalized
from spark_rtm.text.finding import Finding, printable

MAX_ROUNDS = 3
MAX_CALL = 300
"""Number of characters after a finding's line that can belong to the call."""
TEXT = r"""(?:"[^"\n]*"|'[^'\n]*')"""
CLASS = r"(?:Trigger|RealTimeTrigger|Triggers)"
KEY = r"real_?time(?:mode)?\s*=\s*"
IMPORT = re.compile(
    rf"^from [\w.]+ import {CLASS}[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)|,\s*{CLASS}\b(?! as)|\b{CLASS},\s*", re.MULTILINE
)
TRIGGER = re.compile(
    rf"(?P<call>\.trigger\(\s*)(?:{KEY}(?P<kept>{TEXT})|"
    rf"(?:{KEY})?(?:True|{TEXT}|[\w.]*Trigger[\w.]*\(\s*(?P<given>{TEXT})?\s*\)))(?=\s*,?\s*\))",
    re.IGNORECASE,
)
DURATION = re.compile(r"\b(?P<call>realTime\s*=\s*)True\b")
MODE = re.compile(rf"(?P<call>\boutputMode\s*[(=]\s*(?:outputMode\s*=\s*)?){TEXT}")
NO_MODE = re.compile(r"(?P<call>(?P<gap>(?:\r?\n)?[ \t]*))\.(?=(?:start|toTable)\s*\()")
Edit = tuple[int, int, str]


def fixed(text: str, path: str, findings: list[Finding], settings: Settings) -> str:
    """Return the fixed text, or the original text if the fix would cause another finding."""
    before, rest = text, findings
    for _ in range(MAX_ROUNDS):  # a fixed trigger can reveal a wrong output mode
        after = _replaced(text, [edit for found in _edits(text, path, rest) for edit in found])
        if after == text or tree_of(after) is None:
            break
        text, rest = after, lint_text(normalized(after), path, settings.engine, settings=settings)
    return text if len(rest) < len(findings) and {f.rule for f in rest} <= {f.rule for f in findings} else before


def fixable(text: str, path: str, findings: list[Finding]) -> int:
    """Return the number of fixable findings in a file, assuming that the fixes cause no other finding."""
    return sum(map(bool, _edits(text, path, findings)))


def difference(path: Path, before: str, after: str) -> str:
    """Return a file's changes as a unified diff."""
    lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(*lines, fromfile=printable(str(path)), tofile=printable(str(path))))


def _edits(text: str, path: str, findings: list[Finding]) -> list[list[Edit]]:
    patterns = [(finding, found) for finding in findings if (found := _pattern(finding))]
    # A large file's syntax tree takes seconds and hundreds of megabytes.
    if not patterns or not path.endswith(".py") or tree_of(text) is None:
        return []
    starts = [match.end() for match in re.finditer(r"\A|\r\n?|\n", text)]
    ends = [*starts[1:], len(text)]
    edits = list[list[Edit]]()
    for finding, (pattern, template) in patterns:
        first, end = starts[finding.line - 1], ends[finding.line - 1]
        first = max(0, first - 2) if pattern is NO_MODE else first  # including the preceding line ending
        edits.append(_on_line(text, pattern, template, first, end))
    return edits


def _on_line(text: str, pattern: re.Pattern[str], template: str, first: int, end: int) -> list[Edit]:
    """Return the edits to a line. If several statements can change, all of them must be real-time queries."""
    edits, in_real_time = list[Edit](), list[bool]()
    for match in pattern.finditer(text, first, end + MAX_CALL):
        new = _new(match, template)
        start, stop = max(text.rfind(";", 0, match.start()), first), text.find(";", match.end(), end)
        statement = text[start : stop if stop > 0 else end + MAX_CALL]
        if match.start() < end and new != match[0] and not (pattern is NO_MODE and "outputMode" in statement):
            edits.append((match.start(), match.end(), new))
            in_real_time.append("realTime" in statement)
    return edits if len(edits) == 1 or all(in_real_time) else []


def _pattern(finding: Finding) -> tuple[re.Pattern[str], str] | None:
    """Return a pattern that matches the code that a fix replaces, and a template for the replacement."""
    if finding.rule == "trigger-form":
        return (IMPORT, "") if finding.fix.startswith("delete") else (TRIGGER, "realTime={given}")
    if finding.rule == "output-mode":
        fixes = {ADD_UPDATE: (NO_MODE, '.outputMode("update"){gap}.'), WRITE_UPDATE: (MODE, '"update"')}
        return fixes.get(finding.fix)
    return (DURATION, "{given}") if finding.rule == "trigger-duration" else None


def _new(match: re.Match[str], template: str) -> str:
    parts = match.groupdict()
    given = parts.get("kept") or parts.get("given") or '"5 minutes"'  # the default in Spark's Scala trigger
    return parts.get("call", "") + template.format(**{**parts, "given": given})


def _replaced(text: str, edits: list[Edit]) -> str:
    """Apply all edits that do not overlap, and return the new text."""
    parts, last = [], len(text)
    for start, end, new in sorted(set(edits), reverse=True):
        if end <= last:
            parts += [text[end:last], new]
            last = start
    return "".join([text[:last], *reversed(parts)])
