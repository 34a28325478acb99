"""
Compute latencies from append times: exact percentiles per hop and end to end, and what the batch boundary costs.

What arrives are books and the progress of the queries; what leaves are rows of a table, in milliseconds.
Real-time mode carries no latency in its progress events, and the boundary between two batches makes its tail.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from examples.attribution.audit.run_log import Books
from examples.measure.percentiles import percentiles

Hop = Literal["kafka_to_events", "events_to_attributed", "end to end", "from intended send"]
HOPS: tuple[Hop, ...] = ("kafka_to_events", "events_to_attributed", "end to end", "from intended send")


@dataclass(frozen=True)
class Latency:
    """Order statistics of one hop in milliseconds; append times have a resolution of one."""

    hop: Hop
    records: int
    p50: int
    p90: int
    p99: int
    max: int


def latencies(books: Books, sent_from: float = 0) -> list[Latency]:
    """
    Return a row per hop over the records whose intended send time is `sent_from` (UTC milliseconds) or later.

    A hop starts when the broker appends its input and ends when the broker appends its first output.
    """
    return [_order_statistics(hop, values) for hop, values in samples(books, sent_from).items() if values]


def samples(books: Books, sent_from: float = 0) -> dict[Hop, list[int]]:
    """Return the raw milliseconds of each hop; the choice is by send time, because arrival would hide stalls."""
    values: dict[Hop, list[int]] = {hop: [] for hop in HOPS}
    for src, source in list(books.sources.items()):
        event, answered_at = books.events.get(src), books.answered.get(src)
        if source.t0 < sent_from or event is None:
            continue
        values["kafka_to_events"].append(event.appended_at - source.appended_at)
        if answered_at is not None:
            values["events_to_attributed"].append(answered_at - event.appended_at)
            values["end to end"].append(answered_at - source.appended_at)
            values["from intended send"].append(answered_at - source.t0)
    return values


def boundary_gaps_ms(trigger_executions_ms: Iterable[int], interval_seconds: int) -> list[int]:
    """Return how much longer than the trigger interval each finished batch took: rows wait that long, and a bit."""
    return [taken_ms - 1000 * interval_seconds for taken_ms in trigger_executions_ms]


def _order_statistics(hop: Hop, values: Sequence[int]) -> Latency:
    p50, p90, p99 = percentiles(values, (0.5, 0.9, 0.99))
    return Latency(hop, len(values), int(p50), int(p90), int(p99), max(values))
