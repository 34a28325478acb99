"""Define the findings of `validate` and `lint`, and render them as text, JSON, GitHub annotations or SARIF."""

import hashlib
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from urllib.parse import quote

from spark_rtm import DOCUMENTATION, __version__

OSS, DATABRICKS = "oss-4.3", "databricks"
ENGINES = (OSS, DATABRICKS)
NAMES = {OSS: "OSS 4.3", DATABRICKS: "Databricks"}
SEVERITIES = {"error": "error", "warning": "warning", "information": "note"}
"""Singular name and SARIF name of each severity, most severe first."""
STYLES = ("text", "json", "github", "sarif")
GITHUB_LEVELS = {"information": "notice"}
COLORS = {"error": "31", "warning": "33", "information": "36"}
BOLD = "1"
RuleDetails = Mapping[str, Mapping[str, object]]
"""SARIF properties of each rule, such as `helpUri`."""
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, order=True)
class Finding:
    """A problem in a line of a file."""

    path: str
    """File path as given by the caller, with forward slashes."""
    line: int
    """Line number, starting at 1."""
    rule: str
    """Rule identifier, such as `output-mode`."""
    message: str
    """Text of the problem and its consequence."""
    fix: str
    severity: str = "error"
    """`error`, `warning` or `information`."""
    engine: tuple[str, ...] = ENGINES
    column: int = 0
    """First column in characters, starting at 1 (0 if unknown)."""
    end_column: int = 0
    """Column after the end of the range, on the same line."""

    @property
    def text(self) -> str:
        """The problem and the remedy, preceded by the engine if the finding applies to only one engine."""
        scope = f"on {NAMES[self.engine[0]]}, " if len(self.engine) == 1 else ""
        return f"{scope}{self.message}; {self.fix}"

    @property
    def place(self) -> str:
        """The finding's path, line and, if known, column."""
        return ":".join([self.path, str(self.line), *([str(self.column)] if self.column else [])])


def render(
    findings: Iterable[Finding], style: str = "text", rules: RuleDetails | None = None, *, has_colors: bool = False
) -> str:
    """Return `findings` in one of `STYLES`, sorted and without duplicates. Without findings, `text` is empty."""
    ordered = sorted(set(findings))
    if style == "text":
        return "\n".join(_line(finding, has_colors=has_colors) for finding in ordered)
    if style == "json":
        rows = ({**asdict(finding), "url": (rules or {}).get(finding.rule, {}).get("helpUri")} for finding in ordered)
        return json.dumps(list(rows), indent=2)
    if style == "github":
        return "\n".join(_annotation(finding) for finding in ordered)
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


def _annotation(finding: Finding) -> str:
    column = f",col={finding.column}" if finding.column else ""
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
    seen: Counter[tuple[str, ...]] = Counter()
    results = []
    for finding in findings:
        # The hash excludes the line number, so that it does not change when lines are added above the finding.
        same = (finding.path, finding.rule, finding.message, finding.fix)
        seen[same] += 1
        results.append(_sarif_result(finding, hashlib.sha256(repr((*same, seen[same])).encode()).hexdigest()))
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_result(finding: Finding, fingerprint: str) -> dict[str, object]:
    uri = quote(os.fsencode(finding.path), safe="/!$&'()*+,;=@~")
    region = {"startLine": max(1, finding.line)}
    if finding.column:
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
