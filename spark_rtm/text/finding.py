"""Define the findings of `validate` and `lint`, and render them as text, as JSON or for code review."""

import hashlib
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from urllib.parse import quote

from spark_rtm import DOCUMENTATION, __version__

OSS, DATABRICKS = "oss-4.3", "databricks"
ENGINES = (OSS, DATABRICKS)
NAMES = {OSS: "OSS 4.3", DATABRICKS: "Databricks"}
SEVERITIES = {"error": "error", "warning": "warning", "information": "note"}
"""Singular name and SARIF name of each severity, most severe first."""
STYLES = ("text", "json", "github", "gitlab", "sarif")
FULL = "full"
"""The style of text that also shows the source line of each finding."""
GITLAB_SEVERITIES = {"error": "major", "warning": "minor", "information": "info"}
FRAME_WIDTH = 120
"""Maximum number of characters that a finding shows of its source line."""
GITHUB_LEVELS = {"information": "notice"}
COLORS = {"error": "31", "warning": "33", "information": "36"}
BOLD = "1"
RuleDetails = Mapping[str, Mapping[str, object]]
"""SARIF properties of each rule, such as `helpUri`."""
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True)
class Finding:
    """A problem in a line of a file."""

    path: str
    """File path as given by the caller, with forward slashes."""
    line: int
    """Line number in the file, starting at 1."""
    rule: str
    """Rule identifier, such as `output-mode`."""
    message: str
    """Text of the problem and its consequence."""
    fix: str
    severity: str = "error"
    """`error`, `warning` or `information`."""
    engine: tuple[str, ...] = ENGINES
    column: int = 0
    """First column in characters, starting at 1 (0 if unknown). In a notebook, the column in the cell's line."""
    end_column: int = 0
    """Column after the end of the range, on the same line."""
    cell: int = 0
    """Number of the notebook cell, starting at 1 (0 if the file is not a notebook)."""
    cell_line: int = 0
    """Line number in the cell, starting at 1."""
    source: str = field(default="", compare=False, repr=False)
    """Text of the line."""

    def __lt__(self, other: "Finding") -> bool:
        """Compare by place. Equal places are compared by all other fields."""
        return self._key < other._key

    @property
    def _key(self) -> tuple[object, ...]:
        place = (self.path, self.line, self.cell, self.cell_line, self.column)
        return (*place, self.rule, self.message, self.fix, self.severity, self.engine, self.end_column)

    @property
    def text(self) -> str:
        """The problem and the remedy, preceded by the engine if the finding applies to only one engine."""
        scope = f"on {NAMES[self.engine[0]]}, " if len(self.engine) == 1 else ""
        return f"{scope}{self.message}; {self.fix}"

    @property
    def place(self) -> str:
        """The finding's path, line and, if known, column. In a notebook, the line follows the number of the cell."""
        line = f"cell {self.cell}:{self.cell_line}" if self.cell else str(self.line)
        return ":".join([self.path, line, *([str(self.column)] if self.column else [])])

    @property
    def content(self) -> dict[str, object]:
        """The finding's fields for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "source"}


def render(
    findings: Iterable[Finding], style: str = "text", rules: RuleDetails | None = None, *, has_colors: bool = False
) -> str:
    """Return `findings` in one of `STYLES` or `FULL`, sorted and without duplicates. No findings are an empty text."""
    ordered = sorted(set(findings))
    if style in {"text", FULL}:
        frames = (_frame(finding) if style == FULL else "" for finding in ordered)
        lines = (_line(finding, has_colors=has_colors) for finding in ordered)
        return "\n".join(f"{line}{frame}" for line, frame in zip(lines, frames, strict=True))
    if style == "json":
        rows = ({**finding.content, "url": (rules or {}).get(finding.rule, {}).get("helpUri")} for finding in ordered)
        return json.dumps(list(rows), indent=2)
    if style == "github":
        return "\n".join(_annotation(finding) for finding in ordered)
    if style == "gitlab":
        return json.dumps([_gitlab(*pair) for pair in zip(ordered, _fingerprints(ordered), strict=True)], indent=2)
    return json.dumps(_sarif(ordered, rules or {}), indent=2)


def summary(findings: Iterable[Finding]) -> str:
    """Return the number of findings per severity, such as `2 errors, 1 warning`."""
    counts = Counter(finding.severity for finding in findings)
    found = [(counts[severity], name) for severity, name in SEVERITIES.items() if counts[severity]]
    return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in found)


def _line(finding: Finding, *, has_colors: bool) -> str:
    parts = {finding.place: BOLD, finding.severity: COLORS[finding.severity], finding.rule: BOLD}
    shown = [f"\x1b[{code}m{printable(part)}\x1b[0m" if has_colors else printable(part) for part, code in parts.items()]
    return ": ".join([*shown, printable(finding.text)])


def _frame(finding: Finding) -> str:
    """Return a finding's source line and a line of carets below its range, each after a line break."""
    if not finding.column or not finding.source.strip():
        return ""
    number = str(finding.cell_line or finding.line)
    start, end = finding.column - 1, max(finding.end_column - 1, finding.column)
    first = max(0, min(start - FRAME_WIDTH // 4, len(finding.source) - FRAME_WIDTH))
    # Each character keeps its width, so the carets are below the range.
    shown = "".join(each if each.isprintable() else " " for each in finding.source[first : first + FRAME_WIDTH])
    shown = "…" * bool(first) + shown[bool(first) :]
    carets = " " * (start - first) + "^" * (min(end, first + len(shown)) - start)
    margin = " " * len(number)
    return f"\n {margin} |\n {number} | {shown.rstrip()}\n {margin} | {carets}\n"


def _annotation(finding: Finding) -> str:
    # GitHub counts columns in the file, not in the cell.
    column = f",col={finding.column}" if finding.column and not finding.cell else ""
    place = f"file={_escaped(finding.path, ':,')},line={finding.line}{column},title={_escaped(finding.rule, ':,')}"
    level = GITHUB_LEVELS.get(finding.severity, finding.severity)
    return f"::{level} {place}::{_escaped(finding.text)}"


def _escaped(text: str, extra_characters: str = "") -> str:
    # Escape the percent sign first, because the other escape sequences contain a percent sign.
    for character in "%\r\n" + extra_characters:
        text = text.replace(character, f"%{ord(character):02X}")
    return printable(text)


def printable(text: str) -> str:
    """Escape control characters and lone surrogates, because file names may contain terminal commands."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _sarif(findings: list[Finding], details: RuleDetails) -> dict[str, object]:
    rules = [{"id": rule, **details.get(rule, {})} for rule in sorted({finding.rule for finding in findings})]
    driver: dict[str, object] = {"name": "spark-real-time-mode", "version": __version__, "rules": rules}
    driver |= {"informationUri": DOCUMENTATION} if DOCUMENTATION else {}
    results = [_sarif_result(*pair) for pair in zip(findings, _fingerprints(findings), strict=True)]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _fingerprints(findings: list[Finding]) -> Iterator[str]:
    seen: Counter[tuple[str, ...]] = Counter()
    for finding in findings:
        # The hash excludes the line number, so that it does not change when lines are added above the finding.
        same = (finding.path, finding.rule, finding.message, finding.fix)
        seen[same] += 1
        yield hashlib.sha256(repr((*same, seen[same])).encode()).hexdigest()


def _gitlab(finding: Finding, fingerprint: str) -> dict[str, object]:
    path = os.path.relpath(finding.path) if os.path.isabs(finding.path) else finding.path  # noqa: PTH117
    return {
        "description": finding.text,
        "check_name": finding.rule,
        "fingerprint": fingerprint,
        "severity": GITLAB_SEVERITIES[finding.severity],
        "location": {"path": printable(path), "lines": {"begin": max(1, finding.line)}},
    }


def _sarif_result(finding: Finding, fingerprint: str) -> dict[str, object]:
    uri = quote(os.fsencode(finding.path), safe="/!$&'()*+,;=@~")
    region = {"startLine": max(1, finding.line)}
    if finding.column and not finding.cell:
        region |= {"startColumn": finding.column, "endLine": region["startLine"], "endColumn": finding.end_column}
    return {
        "ruleId": finding.rule,
        "level": SEVERITIES[finding.severity],
        "message": {"text": finding.text},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
        "partialFingerprints": {"finding/v1": fingerprint},
        "properties": {"engine": list(finding.engine)},
    }


def show(text: str) -> None:
    """Print text to standard output, unless the text is empty."""
    if text:
        if isinstance(sys.stdout, io.TextIOWrapper):  # the encoding may lack characters of a file name
            sys.stdout.reconfigure(errors="backslashreplace")
        print(text)
