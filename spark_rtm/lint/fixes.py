"""
Correct Python files where one change is safe: trigger form, output mode, and join broadcast.

Each of these queries fails today, so the change cannot alter the results of a running query.
All other characters of a file stay the same, as do its line ends and its byte order mark.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from spark_rtm.lint.engine import lint_text
from spark_rtm.lint.rules.operator import BROADCAST_FIX
from spark_rtm.lint.rules.source import ADD_UPDATE
from spark_rtm.lint.settings import Settings
from spark_rtm.lint.sources import with_line_feeds
from spark_rtm.text.finding import Finding, printable

INTERVAL = '"5 minutes"'
"""The default interval of Spark's Scala trigger."""
MAX_ROUNDS = 3
UNPARSABLE = (SyntaxError, ValueError, RecursionError)
REAL_TIME_NAME = re.compile(r"real_?time(?:mode)?", re.IGNORECASE)
Edit = tuple[int, int, str]
"""A replacement for a range of the text, in bytes."""


def fixed(text: str, path: str, findings: list[Finding], settings: Settings) -> str:
    """Return the corrected text, or the original if the correction would cause another finding."""
    if not path.endswith(".py"):
        return text
    before, rest = text, findings
    for _ in range(MAX_ROUNDS):  # the correction of one join can reveal the next finding
        after = _edited(text, rest)
        if after == text:
            break
        text, rest = after, lint_text(with_line_feeds(after), path, settings.engine, settings=settings)
    return text if len(rest) < len(findings) and {f.rule for f in rest} <= {f.rule for f in findings} else before


def fixable(text: str, path: str, findings: list[Finding]) -> int:
    """Return how many findings of a file can be corrected without causing another one."""
    if not path.endswith(".py") or not any(finding.rule in EDITS for finding in findings):
        return 0
    try:
        tree, places = ast.parse(text), _Places(text)
        return sum(map(bool, _edits_of(tree, places, findings).values()))
    except UNPARSABLE:
        return 0


def difference(path: Path, before: str, after: str) -> str:
    """Return the changes of a file as a unified diff."""
    lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(*lines, fromfile=printable(str(path)), tofile=printable(str(path))))


def _edited(text: str, findings: list[Finding]) -> str:
    try:
        tree, places = ast.parse(text), _Places(text)
    except UNPARSABLE:
        return text
    edits = [edit for found in _edits_of(tree, places, findings).values() for edit in found]
    if any(new.endswith("broadcast(") for *_, new in edits):
        edits += _import_of_broadcast(tree, places)
    return places.replaced(edits)


def _edits_of(tree: ast.Module, places: _Places, findings: list[Finding]) -> dict[Finding, list[Edit]]:
    """Return the edits for each finding, collected in a single walk."""
    by_line: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.rule in EDITS:
            by_line[finding.line].append(finding)
    edits: dict[Finding, list[Edit]] = defaultdict(list)
    for node in ast.walk(tree):
        for line in _lines(node):
            for finding in by_line.get(line, ()):
                edits[finding] += EDITS[finding.rule](node, finding, places)
    return edits


def _lines(node: ast.AST) -> Sequence[int]:
    """Return the numbers of the lines on which a finding can refer to a node, for example to one of its arguments."""
    if isinstance(node, ast.ImportFrom):
        return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return sorted({node.func.end_lineno or 0, *(keyword.value.lineno for keyword in node.keywords)})
    return ()


class _Places:
    """Converts positions of syntax nodes to bytes, as `ast` counts them."""

    def __init__(self, text: str) -> None:
        self.data = text.encode()
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self.starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def text(self, node: ast.expr) -> str:
        return self.data[self.start(node) : self.end(node)].decode()

    def replaced(self, edits: list[Edit]) -> str:
        """Return the text after all changes that do not overlap."""
        parts, last = [], len(self.data)
        for start, end, new in sorted(set(edits), reverse=True):
            if end <= last:
                parts += [self.data[end:last], new.encode()]
                last = start
        return b"".join([self.data[:last], *reversed(parts)]).decode()

    @cached_property
    def newline(self) -> str:
        """The file's line end, taken from the first line."""
        return "\r\n" if self.data.partition(b"\n")[0].endswith(b"\r") else "\n"

    @cached_property
    def broadcast(self) -> str:
        """The expression that means `broadcast` with the imports of this file."""
        text = with_line_feeds(self.data.decode())
        if module := re.search(r"^from pyspark\.sql import (?:[\w, ]*, )?functions(?: as (\w+))?", text, re.MULTILINE):
            return f"{module[1] or 'functions'}.broadcast"
        if module := re.search(r"^import pyspark\.sql\.functions as (\w+)", text, re.MULTILINE):
            return f"{module[1]}.broadcast"
        return "broadcast"


def _method(node: ast.AST, line: int, *names: str) -> ast.Call | None:
    is_call = isinstance(node, ast.Call) and getattr(node.func, "attr", "") in names
    return node if isinstance(node, ast.Call) and is_call and line == node.func.end_lineno else None


def _output_mode(node: ast.AST, finding: Finding, places: _Places) -> Iterator[Edit]:
    if finding.fix != ADD_UPDATE and (call := _method(node, finding.line, "outputMode")):
        for argument in (*call.args, *(keyword.value for keyword in call.keywords))[:1]:
            if isinstance(argument, ast.Constant):
                yield places.start(argument), places.end(argument), '"update"'
    elif (call := _method(node, finding.line, "start", "toTable")) and isinstance(call.func, ast.Attribute):
        modes = [keyword.value for keyword in call.keywords if keyword.arg == "outputMode"]
        if modes and isinstance(modes[0], ast.Constant):
            yield places.start(modes[0]), places.end(modes[0]), '"update"'
        elif finding.fix == ADD_UPDATE:
            end = places.end(call.func.value)
            between = places.data[end : places.end(call.func)].decode()
            yield end, end, f'{between[: between.index(".")]}.outputMode("update")'


def _trigger_form(node: ast.AST, finding: Finding, places: _Places) -> Iterator[Edit]:
    if isinstance(node, ast.ImportFrom) and node.lineno <= finding.line <= (node.end_lineno or 0):
        yield from _import_of_trigger(node, places)
        return
    call = _method(node, finding.line, "trigger")
    if call is None or len(call.args) + len(call.keywords) != 1:
        return
    if call.args:
        yield places.start(call.args[0]), places.end(call.args[0]), f"realTime={_interval_in(call.args[0], places)}"
        return
    keyword = call.keywords[0]
    if keyword.arg and REAL_TIME_NAME.fullmatch(keyword.arg):
        is_text = isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str)
        interval = places.text(keyword.value) if is_text else _interval_in(keyword.value, places)
        yield places.start(keyword), places.end(keyword), f"realTime={interval}"


def _interval_in(node: ast.expr, places: _Places) -> str:
    """Return the duration of a Scala trigger, or the default."""
    arguments = node.args if isinstance(node, ast.Call) else []
    is_text = arguments and isinstance(arguments[0], ast.Constant) and isinstance(arguments[0].value, str)
    return places.text(arguments[0]) if is_text else INTERVAL


def _import_of_trigger(node: ast.ImportFrom, places: _Places) -> Iterator[Edit]:
    rest = [alias for alias in node.names if alias.name not in {"Trigger", "RealTimeTrigger", "Triggers"}]
    if len(rest) == len(node.names):
        return
    if rest:
        kept = ast.unparse(ast.ImportFrom(node.module, rest, node.level))
        yield places.start(node), places.end(node), kept
    elif node.col_offset == 0:  # deleting the only statement of a block would break the syntax
        yield places.start(node), places.starts[node.end_lineno or node.lineno], ""


def _trigger_duration(node: ast.AST, finding: Finding, places: _Places) -> Iterator[Edit]:
    """Replace only `True`, which asks for the default. A number may mean seconds or milliseconds."""
    is_trigger = isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "trigger"
    for keyword in node.keywords if isinstance(node, ast.Call) and is_trigger else ():
        is_true = getattr(keyword.value, "value", None) is True
        if keyword.arg == "realTime" and is_true and keyword.value.lineno == finding.line:
            yield places.start(keyword.value), places.end(keyword.value), INTERVAL


def _broadcast(node: ast.AST, finding: Finding, places: _Places) -> Iterator[Edit]:
    call = _method(node, finding.line, "join")
    if call is None or not call.args or finding.fix != BROADCAST_FIX or isinstance(call.args[0], ast.Starred):
        return
    start, end = places.start(call.args[0]), places.end(call.args[0])
    if ".hint(" not in places.text(call.args[0]):
        yield start, start, f"{places.broadcast}("
        yield end, end, ")"


def _import_of_broadcast(tree: ast.Module, places: _Places) -> list[Edit]:
    if places.broadcast != "broadcast":
        return []
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [alias.asname or alias.name for node in imports for alias in node.names]
    if "broadcast" in names or any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in imports):
        return []
    after = [node for node in imports if getattr(node, "module", "") in {"__future__", "pyspark", "pyspark.sql"}]
    place = places.starts[after[-1].end_lineno or 0] if after else places.starts[(imports or tree.body)[0].lineno - 1]
    return [(place, place, f"from pyspark.sql.functions import broadcast{places.newline}")]


EDITS: dict[str, Callable[[ast.AST, Finding, _Places], Iterator[Edit]]] = {
    "output-mode": _output_mode,
    "trigger-form": _trigger_form,
    "trigger-duration": _trigger_duration,
    "static-join": _broadcast,
}
