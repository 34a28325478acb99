"""
Compute exact latency percentiles per hop and end to end, and the pauses at batch boundaries.

Latencies are computed from Kafka append times because a real-time query's progress events do not contain per-record
latencies.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from examples.attribution.audit.run_log import RunLog
from spark_rtm.measure.percentiles import percentiles

LatencyHop = Literal["kafka_to_events", "events_to_attributed", "end to end", "from intended send"]
LATENCY_HOPS: tuple[LatencyHop, ...] = ("kafka_to_events", "events_to_attributed", "end to end", "from intended send")


@dataclass(frozen=True)
class Latency:
    """Latency percentiles of one hop, in whole milliseconds because Kafka append times are whole milliseconds."""

    hop: LatencyHop
    records: int
    p50: int
    p90: int
    p99: int
    max: int


def hop_latencies(log: RunLog, sent_from: float = 0, newest: int | None = None) -> list[Latency]:
    """
    Return each hop's latency percentiles for records with an intended send time of `sent_from` (UTC ms) or later.

    With `newest`, only this number of most recently read source records counts.

    A hop starts when the broker appends the input record and ends when the broker appends its first output record.
    """
    samples = latency_samples_ms(log, sent_from, newest)
    return [_order_statistics(hop, values) for hop, values in samples.items() if values]


def latency_samples_ms(log: RunLog, sent_from: float = 0, newest: int | None = None) -> dict[LatencyHop, list[int]]:
    """
    Return the latency of each record in each hop, in milliseconds.

    Records are selected by intended send time because selecting them by arrival time would hide stalls.
    """
    values: dict[LatencyHop, list[int]] = {hop: [] for hop in LATENCY_HOPS}
    for src, source in islice(reversed(log.sources.items()), newest):
        event = log.events.get(src)
        result_at = log.first_result_at.get(src)
        if source.t0 < sent_from or event is None:
            continue
        values["kafka_to_events"].append(event.appended_at - source.appended_at)
        if result_at is not None:
            values["events_to_attributed"].append(result_at - event.appended_at)
            values["end to end"].append(result_at - source.appended_at)
            values["from intended send"].append(result_at - source.t0)
    return values


def boundary_pauses_ms(trigger_executions_ms: Iterable[int], interval_seconds: int) -> list[int]:
    """Return each batch's excess over the trigger interval in milliseconds; records wait slightly longer than this."""
    return [taken_ms - 1000 * interval_seconds for taken_ms in trigger_executions_ms]


def _order_statistics(hop: LatencyHop, values: Sequence[int]) -> Latency:
    p50, p90, p99 = percentiles(values, (0.5, 0.9, 0.99))
    return Latency(hop, len(values), int(p50), int(p90), int(p99), max(values))
