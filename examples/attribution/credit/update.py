"""
How what is known of one user grows, and what it forgets: the whole behaviour of the credit hop, without Spark.

What arrive are a path and news of one user; what leave are the next path and the answers that changed.
Real-time mode demands that old records go by the append times of newer ones, so that a replay forgets what the live run
forgot; the engine's clock calls answers final and ends the state of a user who has fallen silent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from examples.attribution.credit.history import Order, Path, answers, ends_at, final, orders
from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.rule import Conversion, Credited, Touch

K = TypeVar("K")
R = TypeVar("R", Touch, Conversion)


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
    closed: list[Credited] = []
    if news.erased_at > path.erased_at:
        last = _learn(path, _part(news, lambda stored_at: stored_at <= news.erased_at), now)
        closing = {order: final(answer) for order, answer in answers(last, user, rules).items()}
        closed = _changed(answers(path, user, rules), closing)
        path = Path(known=last.known, looked_at=last.looked_at, active_at=last.active_at, erased_at=news.erased_at)
        news = _part(news, lambda stored_at: stored_at > path.erased_at)
    learnt = _learn(path, news, now)
    kept = _without_old(learnt, rules)
    after = answers(learnt, user, rules)
    for order in orders(learnt).keys() - (orders(kept).keys() if kept else set()):
        after[order] = final(after[order])  # what is forgotten cannot change any more
    return kept, closed + _changed(answers(path, user, rules), after)


def _part(news: News, is_part: Callable[[int], bool]) -> News:
    return replace(
        news,
        touches=tuple(touch for touch in news.touches if is_part(touch.stored_at)),
        conversions=tuple(record for record in news.conversions if is_part(record.stored_at)),
    )


def _learn(path: Path, news: News, now: int) -> Path:
    touches, conversions = dict(path.touches), dict(path.conversions)
    # By both times: an earlier query that restarts stores again what happened before the erasure.
    valid = (touch for touch in news.touches if min(touch.effective_ts, touch.stored_at) > path.erased_at)
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
    if path.looked_at >= ends_at(path, rules):
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


def _changed(before: Mapping[Order, Credited], after: Mapping[Order, Credited]) -> list[Credited]:
    def is_same(order: Order, answer: Credited) -> bool:
        return order in before and replace(before[order], version=answer.version) == answer

    return [answer for order, answer in after.items() if not is_same(order, answer)]
