"""Decide whether a run is valid. A load generator that sends late would hide an engine's pauses."""

from collections.abc import Iterable, Mapping
from typing import Any

MIN_ACHIEVED_SHARE = 0.99
MAX_LAG_SHARE_OF_P50 = 0.1
ALWAYS_ALLOWED_LAG_MS = 5.0
"""Sending lag that is always accepted, because latency includes it. On busy cores, a thread waits for a time slice."""
MIN_BOUNDARIES = 3
MAX_NEGATIVE_SHARE = 0.001
MAX_FOREIGN_CORES = 0.15


def problems(
    numbers: Mapping[str, Any], examples: Iterable[str] = (), min_boundaries: int = MIN_BOUNDARIES
) -> list[str]:
    """Return the problems that invalidate a run. `examples` describe wrong outputs."""
    missing, wrong, share = numbers["missing"], numbers["wrong"], numbers["achieved_share"]
    negative, boundaries = numbers.get("negative", 0), numbers["boundaries"]
    checks = {
        f"{missing} records have no output": missing,
        f"{wrong} outputs differ from the replay, for example {'; '.join(examples)}": wrong,
        f"the load generator reached {share:.1%} of the requested rate; use a lower --rate": share < MIN_ACHIEVED_SHARE,
        **dict.fromkeys(late_sending(numbers), True),
        f"{negative} outputs have an earlier append time than their records, so the broker's clock was set back": (
            negative > MAX_NEGATIVE_SHARE * numbers["records"]
        ),
        f"the run has only {boundaries} batch boundaries; use a longer --duration": boundaries < min_boundaries,
    }
    return [problem for problem, is_found in checks.items() if is_found]


def busy_machine(numbers: Mapping[str, Any], max_cores: float = MAX_FOREIGN_CORES) -> list[str]:
    """Return a message if other programs used more than `max_cores` cores, otherwise an empty list."""
    cores = numbers.get("foreign_cores", 0)
    return [f"other programs used {cores:.2f} cores"] if cores > max_cores else []


def late_sending(numbers: Mapping[str, Any]) -> list[str]:
    """Return a message if records were sent late. The cause is a slow machine, not the engine."""
    max_lag_ms = max(ALWAYS_ALLOWED_LAG_MS, MAX_LAG_SHARE_OF_P50 * numbers.get("p50_ms", 0))
    if numbers["lag_p99_ms"] <= max_lag_ms:
        return []
    return [f"records were sent late: p99 {numbers['lag_p99_ms']:.1f} ms, allowed {max_lag_ms:.1f} ms"]
