"""Print the verdicts as a table, and write them to a file with the conditions of the run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from evals.items import Verdict

MAX_REASON = 110
UNKNOWN = "-"


def table(verdicts: Sequence[Verdict]) -> str:
    """Return one line per verdict and a summary line."""
    width = max([len(verdict.item) for verdict in verdicts], default=0)
    lines = [
        f"{'item':{width}}  verdict  read bytes  seconds  reason",
        *(_line(verdict, width) for verdict in verdicts),
    ]
    return "\n".join([*lines, summary(verdicts)])


def summary(verdicts: Sequence[Verdict]) -> str:
    """Return the number of right answers, also by who raised the items, and the mean bytes read per answer."""
    right, others = _right(verdicts), [verdict for verdict in verdicts if verdict.raised_at]
    ours = [verdict for verdict in verdicts if not verdict.raised_at]
    known = [verdict.read_bytes for verdict in verdicts if verdict.read_bytes is not None]
    read = f"{sum(known) / len(known):,.0f}" if known else UNKNOWN
    split = f"raised by others {_right(others)}, by this project {_right(ours)}"
    return f"{right} right ({split}); mean bytes of the pack opened per answer: {read}"


def _right(verdicts: Sequence[Verdict]) -> str:
    return f"{sum(verdict.is_right for verdict in verdicts)} of {len(verdicts)}"


def write(path: Path, conditions: Mapping[str, object], verdicts: Sequence[Verdict]) -> None:
    """Write the conditions and the verdicts as JSON."""
    content = {**conditions, "verdicts": [asdict(verdict) for verdict in verdicts]}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _line(verdict: Verdict, width: int) -> str:
    read = UNKNOWN if verdict.read_bytes is None else f"{verdict.read_bytes:,}"
    word = "right" if verdict.is_right else "wrong"
    reason = verdict.reason.replace("\n", " ")[:MAX_REASON]
    return f"{verdict.item:{width}}  {word:7}  {read:>10}  {verdict.seconds:7.1f}  {reason}".rstrip()
