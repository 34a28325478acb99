"""
Judge whether a resource grows during a run.

The growth is the median slope between all pairs of minutes (the Theil-Sen estimator), so single peaks do not change it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

import numpy as np

from examples.attribution.soak.samples import Sample

Trend = Literal["steady", "grows", "grows as expected", "falls"]
MINUTES_PER_HOUR = 60
MIN_MINUTES = 90
SETTLING_MINUTES = 40
"""Ignored first minutes, in which the JVM compiles code and the checkpoints of 100 batches fill."""
MIN_SHARE = 0.02
"""Minimum change of a growing resource over the judged part, as a share of its level."""
NOISE = 3.0
"""Minimum change of a growing resource, in median absolute deviations."""
UNITS = {
    "memory_mib": "memory, MiB",
    "jvm_mib": "memory in Spark's JVM, MiB",
    "handles": "open files and connections",
    "jvm_threads": "threads in Spark's JVM",
    "jvm_classes": "classes in Spark's JVM",
    "state_rows": "state rows",
    "state_mib": "state memory, MiB",
    "checkpoint_files": "checkpoint files",
    "checkpoint_mib": "checkpoint size, MiB",
}
"""Groups to judge, with their titles."""
COLLECTED = {"memory_mib", "jvm_mib", "jvm_classes", "checkpoint_mib"}
"""Groups with garbage, which rise until a JVM collection or until Spark deletes old state files."""
COLLECTION_MINUTES = 30
"""Period whose lowest value counts in these groups, because Spark requests a collection every 30 minutes."""
LOOKBACK = "the query keeps each touch for the lookback window, which is longer than the run"
BLOCK_CACHE = "likely the RocksDB block cache, which grows to 8 MiB per state partition"
EXPECTED = {
    ("memory_mib", "driver and audit"): "the audit keeps every record of the run in memory",
    ("memory_mib", "Kafka"): "the broker fills its 512 MiB heap for the first time",
    ("memory_mib", "Spark"): "the JVM grows and shrinks its heap below the limit, regardless of the queries",
    ("memory_mib", "PostgreSQL"): "the table keeps every result, and fills the shared buffers",
    ("state_mib", "attributed_to_pacing"): BLOCK_CACHE,
    **{(group, "touches_to_credit"): LOOKBACK for group in ("state_rows", "state_mib", "checkpoint_mib")},
}
"""Growth with a known or likely cause, which does not cause exit status 1."""


@dataclass(frozen=True)
class Growth:
    """How one resource of one part of the run changes, with its value in each minute."""

    group: str
    part: str
    minutes: list[float]
    level: float
    """The median of the judged part."""
    per_hour: float
    trend: Trend


def growths(samples: Sequence[Sample]) -> list[Growth]:
    """Return the growth of each resource. Raise ValueError if the run was too short."""
    by_minute = minutes_of(samples)
    if len(by_minute) < MIN_MINUTES:
        raise ValueError(
            f"the samples cover {len(by_minute)} minutes, which is too short to judge growth; run for at least "
            f"{MIN_MINUTES} minutes"
        )
    found = [_growth(group, part, by_minute) for group, part in _series(samples)]
    # A program that ran only at the start, such as a compiler, cannot grow.
    return [each for each in found if each.level]


def minutes_of(samples: Sequence[Sample]) -> list[list[Sample]]:
    """Return the samples, grouped by minute."""
    return [list(group) for _, group in groupby(samples, lambda sample: int(sample["seconds"] // 60))]


def latency_growth(latency: Sequence[dict[str, Any]], name: str) -> Growth:
    """Return the growth of one latency percentile, for example `p50_ms`, from the rows of `latency_by_minute`."""
    return _judged("latency", name, [row[name] for row in latency])


def _series(samples: Sequence[Sample]) -> Iterator[tuple[str, str]]:
    for group in UNITS:
        parts = dict.fromkeys(part for sample in samples for part in sample[group])
        yield from ((group, part) for part in parts)


def _growth(group: str, part: str, by_minute: Sequence[Sequence[Sample]]) -> Growth:
    minutes = [float(np.median([each[group].get(part, 0) for each in minute])) for minute in by_minute]
    return _judged(group, part, minutes)


def _judged(group: str, part: str, minutes: list[float]) -> Growth:
    span = COLLECTION_MINUTES if group in COLLECTED else 1
    judged = np.array([min(minutes[end - span : end]) for end in range(SETTLING_MINUTES + span, len(minutes) + 1)])
    slope = _median_slope(judged)
    level = float(np.median(judged))
    line = slope * np.arange(len(judged))
    residuals = judged - line
    deviation = float(np.median(np.abs(residuals - np.median(residuals))))
    change = slope * (len(judged) - 1)
    trend: Trend = "steady"
    if abs(change) > max(MIN_SHARE * level, NOISE * deviation):
        trend = "falls" if change < 0 else "grows as expected" if (group, part) in EXPECTED else "grows"
    return Growth(group, part, minutes, level, slope * MINUTES_PER_HOUR, trend)


def _median_slope(values: "np.ndarray[Any, Any]") -> float:
    first, second = np.triu_indices(len(values), 1)
    return float(np.median((values[second] - values[first]) / (second - first)))
