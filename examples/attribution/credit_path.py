"""
What is known of one user, how it grows, and when it ends: the whole behaviour of the credit hop, without Spark.

What arrive are a path and news of one user; what leave are the next path and the answers that changed.
Real-time mode demands that old records go by the append times of newer ones, so that a replay forgets what the live run
forgot; the engine's clock calls answers final and ends the state of a user who has fallen silent.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from examples.attribution.credit_models import CreditRules
from examples.attribution.credit_rule import Conversion, Credited, Touch, credit, last_store_ms

TouchId = tuple[str, int]
Order = tuple[str, str]
K = TypeVar("K")
R = TypeVar("R", Touch, Conversion)


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
    """Append time of the last request for erasure; touches stored up to then do not exist."""
    forgotten_ts: int = 0
    """Time of the newest touch that went for lack of room."""


@dataclass(frozen=True)
class News:
    """What has come for one user, in any order."""

    touches: tuple[Touch, ...] = ()
    conversions: tuple[Conversion, ...] = ()
    erased_at: int = 0


def advance(path: Path, user: str, news: News, rules: CreditRules, now: int) -> tuple[Path | None, list[Credited]]:
    """
    Return the path with the news, or None when nothing has to be kept, and all answers that differ from before.

    With no news the time `now` alone may make answers final, or end the state.
    """
    before = answers(path, user, rules)
    learnt = _learn(path, news, now)
    kept = _without_old(replace(learnt, erased_at=max(path.erased_at, news.erased_at)), rules)
    after = answers(learnt, user, rules)
    for order in orders(learnt).keys() - (orders(kept).keys() if kept else set()):
        after[order] = _final(after[order])  # what is forgotten cannot change any more
    changed = [answer for order, answer in after.items() if not _is_same(before.get(order), answer)]
    return kept, changed


def answers(path: Path, user: str, rules: CreditRules) -> dict[Order, Credited]:
    """Return the answer to each order as of the last look; the version of a final one is odd."""
    found = {}
    for order, records in orders(path).items():
        answer = credit(user, records, path.touches.values(), rules)
        reaches_ts = answer.effective_ts - rules.longest_window_ms
        truncated = answer.path_truncated or reaches_ts <= path.forgotten_ts <= answer.effective_ts
        answer = replace(answer, version=2 * path.known, path_truncated=truncated)
        found[order] = _final(answer) if path.looked_at >= _settled_at(records, rules) else answer
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
    return min((at for at in settling if at > path.looked_at), default=_ends_at(path, rules))


def _learn(path: Path, news: News, now: int) -> Path:
    touches, conversions = dict(path.touches), dict(path.conversions)
    valid = (touch for touch in news.touches if touch.stored_at > path.erased_at)
    learnt = sum(_keep_first(touches, (touch.result_id, touch.version), touch) for touch in valid)
    learnt += sum(_keep_first(conversions, record.src, record) for record in news.conversions)
    is_active = bool(news.touches or news.conversions or news.erased_at)
    return replace(
        path,
        touches=touches,
        conversions=conversions,
        known=path.known + learnt,
        looked_at=max(path.looked_at, now),
        active_at=max(path.active_at, now) if is_active else path.active_at,
    )


def _keep_first(known: dict[K, R], key: K, record: R) -> bool:
    # A restarted query may have stored a record twice; the first time counts, in whatever order the two are read.
    is_news = key not in known or record.stored_at < known[key].stored_at
    if is_news:
        known[key] = record
    return is_news


def _without_old(path: Path, rules: CreditRules) -> Path | None:
    if path.looked_at >= _ends_at(path, rules):
        return None
    records: list[Touch | Conversion] = [*path.touches.values(), *path.conversions.values()]
    newest = max((record.stored_at for record in records), default=0)
    oldest = max(newest - rules.retention_ms, path.erased_at + 1)
    by_time = sorted(path.touches.items(), key=lambda item: (item[1].effective_ts, item[0]))
    dropped = by_time[: max(len(by_time) - rules.most_touches, 0)]
    return replace(
        path,
        touches={key: touch for key, touch in by_time[len(dropped) :] if touch.stored_at >= oldest},
        conversions={
            record.src: record
            for of_order in orders(path).values()
            # A late copy of an order keeps all of its records, or it would count as an order of its own.
            for record in of_order
            if max(other.stored_at for other in of_order) >= oldest
        },
        forgotten_ts=max([path.forgotten_ts, *(touch.effective_ts for _, touch in dropped)]),
    )


def _settled_at(records: list[Conversion], rules: CreditRules) -> int:
    # While a backlog is read, the records that belong to old ones come after them, but not much.
    seen_at = min(record.seen_at for record in records)
    return max(last_store_ms(records, rules), seen_at) + rules.settle_ms


def _ends_at(path: Path, rules: CreditRules) -> int:
    return path.active_at + rules.retention_ms + rules.settle_ms


def _final(answer: Credited) -> Credited:
    return replace(answer, final=True, version=answer.version | 1)


def _is_same(before: Credited | None, after: Credited) -> bool:
    return before is not None and replace(before, version=after.version) == after
