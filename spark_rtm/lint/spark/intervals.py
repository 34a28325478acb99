"""Parse Spark's two duration formats: trigger intervals such as `5 minutes` and settings such as `500ms`."""

import re

MIN_BATCH_MS = 5000
"""Spark's default minimum batch duration in real-time mode."""
PART = re.compile(r"([+-]?)\s*(\d+(?:\.\d*)?|\.\d+)\s+([a-z]+)\s*")
UNITS_MS = {
    "microsecond": 0.001,
    "millisecond": 1,
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
TIME_CONF = re.compile(r"(-?\d+)\s*(us|ms|s|m|min|h|d)?")
TIME_CONF_MS = {"us": 0.001, "ms": 1, None: 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
MIN_BATCH_SETTING = re.compile(r"realTimeMode\.minBatchDuration[\"']?\s*[,:=]\s*[\"']?(\d+\s*\w*)")


def interval_ms(text: str) -> float | str:
    """Return the length of a trigger interval in milliseconds, or the reason why Spark cannot parse it."""
    rest = re.sub(r"^interval\s+", "", text.strip().lower())
    total, position = 0.0, 0
    while position < len(rest):
        part = PART.match(rest, position)
        if not part:
            return "is not a number followed by a space and a unit"
        unit = part[3].removesuffix("s")
        if unit in {"month", "year"}:
            return "uses months or years, whose length varies"
        if unit not in UNITS_MS:
            return f"has the unit {part[3]!r}, which Spark does not recognize"
        total += float(part[1] + part[2]) * UNITS_MS[unit]
        position = part.end()
    return total if rest else "is empty"


def time_conf_ms(text: str) -> float | None:
    """Return a setting's value, such as `500ms` or `1s`, in milliseconds, or None if the value cannot be parsed."""
    parts = TIME_CONF.fullmatch(text.strip().lower())
    return float(parts[1]) * TIME_CONF_MS[parts[2]] if parts else None


def min_batch_ms_in(text: str) -> float | None:
    """Return the smallest of the minimum batch durations set in a text, in milliseconds, or None if there are none."""
    values = [value for match in MIN_BATCH_SETTING.findall(text) if (value := time_conf_ms(match)) is not None]
    return min(values, default=None)
