"""
Judge whether a resource grows.

Growth is the median of the slopes between all pairs of minutes (the Theil-Sen estimator), so single peaks do not change
it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import Any

SETTLING_MINUTES = 40
"""Minutes at the start that are not judged, while the JVM compiles code and the checkpoints fill with 100 batches."""
MIN_SHARE = 0.02
"""Minimum growth over the judged minutes, as a share of the resource's level. A smaller change is no growth."""
NOISE = 3.0
"""Minimum growth over the judged minutes, in median absolute deviations. A smaller change is no growth."""
TITLES = {
    "memory_mib": "memory, MiB",
    "jvm_mib": "memory in Spark's JVM, MiB",
    "handles": "open files and connections",
    "jvm_threads": "threads in Spark's JVM",
    "jvm_classes": "classes in Spark's JVM",
    "state_rows": "state rows",
    "state_mib": "state memory, MiB",
    "checkpoint_files": "checkpoint files",
    "checkpoint_mib": "checkpoint size, MiB",
    "latency": "latency, ms",
}
"""Titles of the judged groups of resources."""
COLLECTED = {"memory_mib", "jvm_mib", "jvm_classes", "checkpoint_mib"}
"""Groups that contain garbage. They grow until the JVM collects garbage or Spark deletes old state files."""
COLLECTION_MINUTES = 30
"""In these groups, only the lowest value of this period counts: Spark requests a collection every 30 minutes."""
LOOKBACK = "the query keeps each touch for the lookback window, which is longer than the run"
EXPECTED = {
    ("memory_mib", "driver and audit"): "the audit keeps every record of the run in memory",
    ("memory_mib", "Kafka"): "the broker fills its 512 MiB heap for the first time",
    ("memory_mib", "Spark"): "the JVM grows and shrinks its heap below the limit, regardless of the queries",
    ("memory_mib", "PostgreSQL"): "the table keeps every result, and fills the shared buffers",
    ("state_mib", "attributed_to_pacing"): ("likely the RocksDB block cache, which grows to 8 MiB per state partition"),
    **{(group, "touches_to_credit"): LOOKBACK for group in ("state_rows", "state_mib", "checkpoint_mib")},
}
"""Resources whose growth has a known or likely cause. This growth does not lead to exit status 1."""


def growth(group: str, part: str, minutes: Sequence[float]) -> dict[str, Any]:
    """Return level (median), change per hour and trend of one resource. `minutes` contains its value in each minute."""
    span = COLLECTION_MINUTES if group in COLLECTED else 1
    judged = [min(minutes[end - span : end]) for end in range(SETTLING_MINUTES + span, len(minutes) + 1)]
    slope = median(
        (judged[later] - judged[first]) / (later - first) for first, later in combinations(range(len(judged)), 2)
    )
    level, change = median(judged), slope * (len(judged) - 1)
    residuals = [value - slope * minute for minute, value in enumerate(judged)]
    middle = median(residuals)
    deviation = median(abs(value - middle) for value in residuals)
    cause, trend = EXPECTED.get((group, part), ""), "steady"
    if abs(change) > max(MIN_SHARE * level, NOISE * deviation):
        trend = "falls" if change < 0 else "grows as expected" if cause else "grows"
    return {
        "title": TITLES[group],
        "group": group,
        "part": part,
        "minutes": [round(value, 2) for value in minutes],
        "level": level,
        "per_hour": round(60 * slope, 2),
        "trend": trend,
        "cause": cause,
    }


def unexpected(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a message for each resource that grows without a known cause."""
    for row in rows:
        if row["trend"] == "grows":
            yield (
                f"{row['title']} of {row['part']} grows by {row['per_hour']:,.1f} per hour from a level of "
                f"{row['level']:,.0f}; find the cause before the pipeline runs for weeks"
            )
