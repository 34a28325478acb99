"""Compute exact latency percentiles per hop and end to end, from Kafka append times."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median_low

from examples.attribution.audit.run_log import RunLog
from examples.attribution.credit.models import CreditRules
from spark_rtm.measure import percentiles

VISIBLE = "until committed"
HOPS = ("kafka_to_events", "events_to_attributed", "end to end", VISIBLE, "from intended send")


@dataclass(frozen=True)
class Latency:
    """Latency percentiles of one hop in whole milliseconds, because Kafka append times have this resolution."""

    hop: str
    records: int
    p50: int
    p90: int
    p99: int
    max: int


def hop_latencies(log: RunLog, sent_from: float = 0, newest: int | None = None) -> list[Latency]:
    """
    Return latency percentiles per hop for records whose intended send time is `sent_from` (UTC ms) or later.

    Records are selected by intended send time, because a selection by arrival time would hide stalls. If `newest` is
    set, only the `newest` most recently read source records count. A hop starts when the broker appends the input
    record and ends when the broker appends the first output record. `VISIBLE` ends when a reader of committed records
    has the result, and is measured if the queries write exactly once.
    """
    values: dict[str, list[int]] = {hop: [] for hop in HOPS}
    for src, source in islice(reversed(log.sources.items()), newest):
        event = log.events.get(src)
        result_at = log.first_result_at.get(src)
        if source.t0 < sent_from or event is None:
            continue
        values["kafka_to_events"].append(event.appended_at - source.appended_at)
        if result_at is not None:
            values["events_to_attributed"].append(result_at - event.appended_at)
            values["end to end"].append(result_at - source.appended_at)
            values[VISIBLE] += [at - source.appended_at for at in (log.visible_at.get(src),) if at]
            values["from intended send"].append(result_at - source.t0)
    return [order_statistics(hop, latencies_ms) for hop, latencies_ms in values.items() if latencies_ms]


def timer_latencies(log: RunLog, rules: CreditRules, since: float = 0) -> list[Latency]:
    """
    Return percentiles of the delays from ad-slot deadlines to timeouts, and from order deadlines to final credit.

    `rules` must contain scaled times. Deadlines before `since` (UTC ms) and orders stored before `since` do not count.
    Orders with several records are omitted, because the log does not show which record was stored first.
    """
    deadlines = {key: at for key, at in log.deadlines.items() if at >= since}
    single = {key: log.events.get(credit["src"]) for key, credit in log.credits.items() if credit["records"] == 1}
    stored = {key: event.appended_at for key, event in single.items() if event and event.appended_at >= since}
    due = {key: at + rules.lateness_ms + rules.settle_ms for key, at in stored.items()}
    values = {
        "deadline to timeout": _late_ms(deadlines, log.unfilled_at),
        "deadline to credit": _late_ms(due, log.final_at),
    }
    return [order_statistics(timer, late_ms) for timer, late_ms in values.items() if late_ms]


def _late_ms(due: Mapping[str, int], appended: Mapping[str, int]) -> list[int]:
    return [appended[key] - at for key, at in due.items() if key in appended]


def medians_of_run(log: RunLog, started_at: float, newest: int, *, decoded: bool = False) -> dict[int, int]:
    """Return the median latency (ms) of both queries, or of only the first, for each second since `started_at`."""
    latencies_ms = []
    for src, source in islice(reversed(log.sources.items()), newest):
        event = log.events.get(src)
        ended_at = (event and event.appended_at) if decoded else log.first_result_at.get(src)
        if ended_at:
            latencies_ms.append((source.t0 / 1000 - started_at, ended_at - source.appended_at))
    return medians_by_second(latencies_ms)


def medians_by_second(latencies_ms: Iterable[tuple[float, int]]) -> dict[int, int]:
    """Return the median latency in each second. `latencies_ms` contains pairs of time (s) and latency."""
    values: defaultdict[int, list[int]] = defaultdict(list)
    for at_seconds, latency_ms in latencies_ms:
        values[int(at_seconds)].append(latency_ms)
    return {second: median_low(each) for second, each in values.items()}


def order_statistics(hop: str, values: Sequence[int]) -> Latency:
    """Return the number, the percentiles and the maximum of one hop's latencies, which are in milliseconds."""
    p50, p90, p99 = percentiles(values, (0.5, 0.9, 0.99))
    return Latency(hop, len(values), int(p50), int(p90), int(p99), max(values))
