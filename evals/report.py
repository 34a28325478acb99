"""Print the verdicts as a table."""

from collections.abc import Sequence

from evals.items import Verdict

MAX_REASON = 110
UNKNOWN = "-"


def table(verdicts: Sequence[Verdict]) -> str:
    """
    Return one line per verdict and a summary line.

    The summary states the number of right answers, also by who raised the items, and the mean bytes read per answer.
    """
    width = max([len(verdict.item) for verdict in verdicts], default=0)
    others = _right([verdict for verdict in verdicts if verdict.raised_at])
    ours = _right([verdict for verdict in verdicts if not verdict.raised_at])
    known = [verdict.read_bytes for verdict in verdicts if verdict.read_bytes is not None]
    read = f"{sum(known) / len(known):,.0f}" if known else UNKNOWN
    summary = f"{_right(verdicts)} right (raised by others {others}, by this project {ours})"
    header = f"{'item':{width}}  verdict  read bytes  seconds  reason"
    last = f"{summary}; mean bytes of the pack opened per answer: {read}"
    return "\n".join([header, *(_line(verdict, width) for verdict in verdicts), last])


def _right(verdicts: Sequence[Verdict]) -> str:
    return f"{sum(verdict.is_right for verdict in verdicts)} of {len(verdicts)}"


def _line(verdict: Verdict, width: int) -> str:
    read = UNKNOWN if verdict.read_bytes is None else f"{verdict.read_bytes:,}"
    word = "right" if verdict.is_right else "wrong"
    reason = verdict.reason.replace("\n", " ")[:MAX_REASON]
    return f"{verdict.item:{width}}  {word:7}  {read:>10}  {verdict.seconds:7.1f}  {reason}".rstrip()
