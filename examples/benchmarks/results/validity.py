"""
Say whether a run counts.

The numbers of a run arrive; what makes it invalid leaves, and what makes it doubtful.
A slow sender hides the pauses of an engine, a lost answer is an infinite latency, and a wrong one is no answer.
"""

from collections.abc import Iterable, Mapping
from typing import Any

LEAST_ACHIEVED = 0.99
MOST_LAG_OF_P50 = 0.1
LAG_FLOOR_MS = 5.0
"""
A lag below this is accepted whatever the median is: a thread that is woken on a machine whose cores are all busy waits
for a time slice. Latency counts from when a record was due, so the lag is part of it and hides nothing.
"""
LEAST_BOUNDARIES = 3
MOST_NEGATIVE_SHARE = 0.001
MOST_FOREIGN_CORES = 0.15


def problems(
    numbers: Mapping[str, Any], examples: Iterable[str] = (), *, has_boundaries: bool = False
) -> tuple[list[str], list[str]]:
    """Return what makes a run invalid, and what makes it doubtful; `examples` are wrong outputs to be shown."""
    invalid, doubtful = list[str](), list[str]()
    if numbers["missing"]:
        invalid.append(f"{numbers['missing']} records have no answer")
    if numbers["wrong"]:
        invalid.append(f"{numbers['wrong']} answers differ from the replay, such as {'; '.join(examples)}")
    if numbers["achieved_share"] < LEAST_ACHIEVED:
        invalid.append(f"the load program reached {numbers['achieved_share']:.1%} of its rate; choose a lower --rate")
    invalid += sent_late(numbers)
    if numbers.get("negative", 0) > MOST_NEGATIVE_SHARE * numbers["records"]:
        invalid.append(f"{numbers['negative']} answers were appended before their records; the broker's clock jumped")
    if has_boundaries and numbers["boundaries"] < LEAST_BOUNDARIES:
        invalid.append(f"only {numbers['boundaries']} batch boundaries were measured; use a longer run")
    if numbers["foreign_cores"] > MOST_FOREIGN_CORES:
        doubtful.append(f"other programs kept {numbers['foreign_cores']:.2f} cores busy")
    return invalid, doubtful


def sent_late(numbers: Mapping[str, Any]) -> list[str]:
    """Return what is to be said if many records were sent late, which a slow machine does and not the engine's work."""
    most_lag = max(LAG_FLOOR_MS, MOST_LAG_OF_P50 * numbers.get("p50_ms", 0))
    if numbers["lag_p99_ms"] <= most_lag:
        return []
    return [f"records were sent late, p99 {numbers['lag_p99_ms']:.1f} ms, allowed {most_lag:.1f}"]
