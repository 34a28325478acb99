"""Define a verdict, and render verdicts as text, JSON, GitHub annotations or SARIF."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from spark_rtm import page
from spark_rtm.text import finding

GOOD, WRONG, UNCHECKED = "good", "wrong", "unchecked"
CHECKS = ("lint", "login", "slots", "mode", "expect", "flow", "state", "input", "restart", "topics", "secrets")
"""The checks, in order of execution and output."""


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
        return "\n".join(finding.printable(verdict.text) for verdict in verdicts)
    if style == "json":
        return json.dumps({"conditions": dict(conditions), "verdicts": [asdict(v) for v in verdicts]}, indent=1)
    return finding.render(map(_finding, (verdict for verdict in verdicts if verdict.status != GOOD)), style)


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
