"""
What is known of one user, and what it says at one moment: the answer to each order, and when to look again.

What arrives is a path; what leaves are answers and times of the engine's clock.
Real-time mode demands a time to wake for everything that waits; `credit_news` has what follows when something comes.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.rule import Conversion, Credited, Touch, credit, last_store_ms

TouchId = tuple[str, int]
Order = tuple[str, str]


@dataclass(frozen=True)
class Path:
    """All that is known of one user; times in UTC milliseconds, 0 for never."""

    touches: Mapping[TouchId, Touch] = field(default_factory=dict)
    conversions: Mapping[str, Conversion] = field(default_factory=dict)
    known: int = 0
    """Records ever learnt: versions grow with it."""
    looked_at: int = 0
    """The engine's clock when the last answers were given."""
    active_at: int = 0
    """The engine's clock when the last record came."""
    erased_at: int = 0
    """Append time of the last request for erasure; touches made or stored up to then do not exist."""
    forgotten_ts: int = 0
    """Time of the newest touch that went for lack of room."""


def answers(path: Path, user: str, rules: CreditRules) -> dict[Order, Credited]:
    """Return the answer to each order as of the last look; the version of a final one is odd."""
    found = {}
    for order, records in orders(path).items():
        answer = credit(user, records, path.touches.values(), rules)
        reaches_ts = answer.effective_ts - rules.longest_window_ms
        truncated = answer.path_truncated or reaches_ts <= path.forgotten_ts <= answer.effective_ts
        # Nobody knows any more whether an order was there before an erasure, so it must not replace that answer.
        result_id = f"{answer.result_id}/{path.erased_at}" if path.erased_at else answer.result_id
        answer = replace(answer, result_id=result_id, version=2 * path.known, path_truncated=truncated)
        found[order] = final(answer) if path.looked_at >= _settled_at(records, rules) else answer
    return found


def orders(path: Path) -> dict[Order, list[Conversion]]:
    """Return the records of each order."""
    found: defaultdict[Order, list[Conversion]] = defaultdict(list)
    for record in path.conversions.values():
        found[record.advertiser_id, record.order_id].append(record)
    return found


def wakes_at(path: Path, rules: CreditRules) -> int:
    """Return the next time at which `advance` without news has something to say or to end."""
    settling = (_settled_at(records, rules) for records in orders(path).values())
    return min((at for at in settling if at > path.looked_at), default=ends_at(path, rules))


def ends_at(path: Path, rules: CreditRules) -> int:
    """Return when a user who has fallen silent is forgotten."""
    return path.active_at + rules.retention_ms + rules.settle_ms


def final(answer: Credited) -> Credited:
    """Return the answer as one that will not change any more."""
    return replace(answer, final=True, version=answer.version | 1)


def _settled_at(records: list[Conversion], rules: CreditRules) -> int:
    # While a backlog is read, the records that belong to old ones come after them, but not much.
    seen_at = min(record.seen_at for record in records)
    return max(last_store_ms(records, rules), seen_at) + rules.settle_ms
