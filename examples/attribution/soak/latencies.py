"""Compute the latency per minute of a run."""

from collections import defaultdict
from typing import Any

from examples.attribution.audit.run_log import RunLog
from spark_rtm.measure.percentiles import percentiles

MINUTE_MS = 60_000


def latency_by_minute(log: RunLog, from_ms: float) -> list[dict[str, Any]]:
    """
    Return the number of records and the latency percentiles (ms) of each minute after `from_ms` (UTC).

    A record belongs to the minute of its intended send time. Its latency runs from the append of the source record to
    the append of its first result.
    """
    minutes = defaultdict[int, list[int]](list)
    for src, result_at in log.first_result_at.items():
        source = log.sources[src]
        if source.t0 >= from_ms:
            minutes[int((source.t0 - from_ms) // MINUTE_MS)].append(result_at - source.appended_at)
    names, shares = ("p50_ms", "p99_ms", "max_ms"), (0.5, 0.99, 1.0)
    return [
        {"minute": minute, "records": len(values), **dict(zip(names, percentiles(values, shares), strict=True))}
        for minute, values in sorted(minutes.items())
    ]
