"""
Decide whether a run is valid.

A load generator that sends late hides an engine's pauses, and a lost record has an infinite latency.
"""

from collections.abc import Iterable, Mapping
from typing import Any

MIN_ACHIEVED_SHARE = 0.99
MAX_LAG_SHARE_OF_P50 = 0.1
ALWAYS_ALLOWED_LAG_MS = 5.0
"""
Sending lag that is always accepted. On busy cores, a waking thread waits for a time slice. Latency is measured from the
due time, so it includes the lag.
"""
MIN_BOUNDARIES = 3
MAX_NEGATIVE_SHARE = 0.001
MAX_FOREIGN_CORES = 0.15


def problems(
    numbers: Mapping[str, Any],
    examples: Iterable[str] = (),
    *,
    has_boundaries: bool = False,
    min_boundaries: int = MIN_BOUNDARIES,
) -> tuple[list[str], list[str]]:
    """Return the problems that invalidate a run, and the warnings. `examples` describe wrong outputs."""
    invalid, warnings = list[str](), list[str]()
    if numbers["missing"]:
        invalid.append(f"{numbers['missing']} records have no output")
    if numbers["wrong"]:
        invalid.append(f"{numbers['wrong']} outputs differ from the replay, for example {'; '.join(examples)}")
    if numbers["achieved_share"] < MIN_ACHIEVED_SHARE:
        share = f"{numbers['achieved_share']:.1%}"
        invalid.append(f"the load generator reached {share} of the requested rate; use a lower --rate")
    invalid += late_sending(numbers)
    if numbers.get("negative", 0) > MAX_NEGATIVE_SHARE * numbers["records"]:
        count = numbers["negative"]
        invalid.append(
            f"{count} outputs have an earlier append time than their records, so the broker's clock was set back"
        )
    if has_boundaries and numbers["boundaries"] < min_boundaries:
        invalid.append(f"the run has only {numbers['boundaries']} batch boundaries; use a longer --duration")
    if numbers["foreign_cores"] > MAX_FOREIGN_CORES:
        warnings.append(f"other programs used {numbers['foreign_cores']:.2f} cores")
    return invalid, warnings


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
