"""Verdicts in all output formats, and failure details: condition, line, fix and page."""

import json
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from spark_rtm import page
from spark_rtm.commands.errors import page_of
from spark_rtm.realtime import failures
from spark_rtm.realtime.failures import REMEDIES
from spark_rtm.realtime.queries import CONDITION
from spark_rtm.text import finding

GOOD, WRONG, UNCHECKED = "good", "wrong", "unchecked"
CHECKS = ("lint", "login", "slots", "mode", "expect", "flow", "state", "input", "restart", "topics", "secrets")
"""The checks, in order of execution and output."""
RESULTS = "results"
"""The verdict on a comparison with another version of the job."""


@dataclass(frozen=True)
class Verdict:
    """A check's result, or a part of the result."""

    check: str
    status: str
    """`good`, `wrong`, or `unchecked` if an earlier problem prevented the check."""
    evidence: str
    fix: str = ""
    page: str = ""
    """Page of this skill, relative to the skill's folder."""
    path: str = ""
    line: int = 0
    details: Mapping[str, Sequence[object]] = field(default_factory=dict, hash=False)
    """Lists below the verdict, such as the smallest input and both results of a comparison."""

    @property
    def text(self) -> str:
        """The verdict as one line of text."""
        place = f"{self.path}:{self.line}: " if self.line else ""
        parts = [f"{place}{self.evidence}", self.fix, f"see {page(self.page)}" if self.page else ""]
        return f"{self.status:<9} {self.check:<8} {'; '.join(part for part in parts if part)}"


def render(verdicts: Sequence[Verdict], style: str, conditions: Mapping[str, object]) -> str:
    """
    Render the verdicts in one of the `lint` output formats.

    `github` and `sarif` omit good verdicts. `json` also contains the run's `conditions`.
    """
    if style == "text":
        return "\n".join(finding.printable(line) for verdict in verdicts for line in _lines(verdict))
    if style == "json":
        return json.dumps({"conditions": dict(conditions), "verdicts": [*map(_fields, verdicts)]}, indent=1)
    return finding.render(map(_finding, (verdict for verdict in verdicts if verdict.status != GOOD)), style)


def _lines(verdict: Verdict) -> Iterator[str]:
    yield verdict.text
    for name, rows in verdict.details.items():
        yield from (f"{name:>9} {row if isinstance(row, str) else json.dumps(row)}" for row in rows or ["nothing"])


def _fields(verdict: Verdict) -> dict[str, object]:
    return {name: value for name, value in asdict(verdict).items() if name != "details" or value}


def summary(verdicts: Sequence[Verdict]) -> str:
    """Return the number of verdicts per status as one line of text."""
    counts = {status: sum(verdict.status == status for verdict in verdicts) for status in (GOOD, WRONG, UNCHECKED)}
    return f"{len(verdicts)} verdicts: {', '.join(f'{number} {status}' for status, number in counts.items() if number)}"


def exit_status(verdicts: Sequence[Verdict]) -> int:
    """Return 1 if any verdict is WRONG, else 2 if any verdict is UNCHECKED, else 0."""
    found = {verdict.status for verdict in verdicts}
    return 1 if WRONG in found else 2 if UNCHECKED in found else 0


def _finding(verdict: Verdict) -> finding.Finding:
    see = f" (see {page(verdict.page)})" if verdict.page else ""
    severity = "error" if verdict.status == WRONG else "warning"
    return finding.Finding(
        verdict.path or ".",
        max(1, verdict.line),
        f"prove-{verdict.check}",
        verdict.evidence,
        f"{verdict.fix}{see}",
        severity,
        (finding.OSS,),
    )


PYTHON = "Python"
PYTHON_FUNCTIONS = r"\b(?:pandas_)?udf\s*\(|@(?:\w+\.)?(?:pandas_)?udf\b|\.mapIn(?:Pandas|Arrow)\("
PYTHON_PAGE = "references/errors_in_rows.md#python-udf"
CALLED_FROM = re.compile(r"was called from\s+(?P<path>\S[^\n]*?):(?P<line>\d+)")
# Pattern for Spark's advice on an expression that fails under ANSI SQL.
BETTER = re.compile(r"`try_(\w+)`")
ANSI = "; Spark 3 returned null here, because spark.sql.ansi.enabled was false by default"
ROWS_PAGE = "references/errors_in_rows.md#expressions-that-cannot-fail"
PYTHON_NODES = ("BatchEvalPython", "ArrowEvalPython", "MapInPandas", "MapInArrow", "FlatMapGroups", "PythonUDF")


@dataclass(frozen=True)
class Failure:
    """The details of a query's exception."""

    condition: str
    message: str
    path: str
    line: int
    fix: str
    page: str


def failure_of(error: BaseException, path: Path, line: int = 0) -> Failure:
    """Return the details of an error in the user's file `path`. `line` is the default line number."""
    cause = error.__cause__ if error.__cause__ is not None else error
    text = str(cause)
    known = failures.failure_of("", cause, 0)
    condition = known.name
    called = CALLED_FROM.search(text)
    if called:
        place, number = called["path"], int(called["line"])
    else:
        frames = [f.lineno or 0 for f in traceback.extract_tb(cause.__traceback__) if Path(f.filename) == path]
        place, number = str(path), frames[-1] if frames else line
    is_python = "NOT_IN_ALLOWLIST" in condition and any(node in text for node in PYTHON_NODES)
    better = BETTER.search(text)
    if better and not called:
        # If a query tries several formats, the first one fails first.
        number = line_of_call(path, rf"\b{better[1]}\(", 0) or number
    if is_python and not called:
        number = line_of_call(path, PYTHON_FUNCTIONS, number)
    haystack = f"{condition} {text.partition('JVM stacktrace')[0]}"
    key = next((part for part in REMEDIES if part in haystack and part != PYTHON), "")
    default = known.cause.remedy if known.cause.parts else "read the page about this condition"
    fix = REMEDIES[PYTHON] if is_python else REMEDIES.get(key, default)
    page = PYTHON_PAGE if is_python else page_of(condition)
    if better and key == "":
        fix, page = f"use try_{better[1]}, and send rows with a null result to a reject topic", ROWS_PAGE
    return Failure(condition, _message(text, condition), place, number, fix + (ANSI if better else ""), page)


def failed(check: str, problem: str, error: BaseException, path: Path, line: int = 0) -> Verdict:
    """Return the verdict `problem` for an error in the user's file `path`. `line` is the default line number."""
    failure = failure_of(error, path, line)
    evidence = f"{problem}: {failure.condition}: {failure.message}"
    return Verdict(check, WRONG, evidence, failure.fix, failure.page, failure.path, failure.line)


def _message(text: str, condition: str) -> str:
    """Return the first useful line of an error's text, without the condition and any advice to bypass the check."""
    lines = [
        line.strip(" :") for line in text.splitlines() if line.strip() and "error occurred while calling" not in line
    ]
    useful = [line for line in lines if CONDITION.search(line) and "STREAM_FAILED" not in line]
    line = (useful or lines or [""])[0]
    return (line.partition(f"[{condition}] ")[2] or line).partition(" To bypass this check")[0][:300]


def line_of_call(path: Path, calls: str, default: int) -> int:
    """
    Return the number of the line that matches `calls` and is nearest to line `default`, or else `default`.

    If a function begins at `default`, the search covers the lines below it first. Otherwise, it covers the lines above
    `default` first.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return default
    found = [n for n, line in enumerate(lines, 1) if re.search(calls, line) and not line.lstrip(' "').startswith("#")]
    above, below = [n for n in found if n <= default], [n for n in found if n >= default]
    is_function = re.match(r"\s*(@|def |async )", "".join(lines[default - 1 : default]))
    nearest = [*below[:1], *above[-1:]] if is_function else [*above[-1:], *below[:1]]
    return nearest[0] if nearest else default


@dataclass(frozen=True)
class Place:
    """A query's file and line, and its stream's name for `--samples`."""

    path: Path
    line: int
    stream: str

    def wrong(self, check: str, evidence: str, fix: str, page: str = "", calls: str = "") -> Verdict:
        """Return a bad verdict at the line that matches `calls`, or else at the query's line."""
        line = line_of_call(self.path, calls, self.line) if calls else self.line
        return Verdict(check, WRONG, evidence, fix, page, str(self.path), line)

    def failed(self, check: str, problem: str, error: Exception) -> Verdict:
        """Return the verdict for an exception from the query."""
        return failed(check, problem, error, self.path, self.line)

    def unchecked(self, check: str, evidence: str, page: str, records: str = "records") -> Verdict:
        """Return an unchecked verdict whose fix is to provide samples. `records` describes the samples."""
        fix = f"pass {records} with --samples {self.stream}=FILE.jsonl"
        return Verdict(check, UNCHECKED, evidence, fix, page)
