"""Parse durations such as `5 minutes` and `500ms`, and find problems with a real-time trigger's value."""

import re

from spark_rtm.lint.spark import values as v
from spark_rtm.text.finding import OSS

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
TIME_CONF_MS = {
    "us": 0.001,
    "ms": 1,
    None: 1,
    "s": 1000,
    "sec": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}
PLACEHOLDER = re.compile(r"[<>{}\u2026]|\.\.\.|\b[NXn]\b")
ABBREVIATED_UNITS = {"ms", "s", "sec", "secs", "m", "min", "mins", "h", "hr", "us"}
MIN_BATCH_SETTING = re.compile(r"realTimeMode\.minBatchDuration[\"']?\s*[,:=]\s*[\"']?(\d+\s*\w*)")


def interval_ms(text: str) -> float | str:
    """Return a trigger interval's length in milliseconds, or the reason why Spark cannot parse the interval."""
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
    """Return a setting such as `500ms` or `1s` in milliseconds, or None if the setting cannot be parsed."""
    parts = TIME_CONF.fullmatch(text.strip().lower())
    return float(parts[1]) * TIME_CONF_MS[parts[2]] if parts else None


def min_batch_ms_in(text: str) -> float | None:
    """Return the smallest minimum batch duration that a text sets, in milliseconds, or None if it sets none."""
    values = [value for match in MIN_BATCH_SETTING.findall(text) if (value := time_conf_ms(match)) is not None]
    return min(values, default=None)


def not_a_text(value: v.Value) -> str:
    """Describe a value that cannot be a non-empty string. Return an empty string for other values."""
    if isinstance(value, v.Const):
        is_text = isinstance(value.value, str) and value.value.strip()
        return "" if is_text or value.value is ... else v.quoted(value.value)
    if isinstance(value, v.Unknown):
        return {"datetime.timedelta": "timedelta(...)", v.TRUTH_VALUE: "a truth value"}.get(value.origin, "")
    names = {v.Number: "a number", v.Table: "a dictionary", v.Items: "a list", v.Function: "a function"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "")


def interval_problem(value: v.Value, min_batch_ms: float) -> tuple[str, str, tuple[str, ...]]:
    """Return the interval, its problem, and the only engine with this problem (empty: both), or else empty values."""
    if isinstance(value, v.Text):
        return _template_problem(value.template)
    text = v.text_of(value)
    if text is None or not text.strip() or PLACEHOLDER.search(text):
        return "", "", ()
    length = interval_ms(text)
    if isinstance(length, str) or length <= 0:
        reason = length if isinstance(length, str) else "is not above zero"
        return text, f"{reason}, so trigger() fails", ()
    if length < min_batch_ms:
        reason = f"is below the minimum of {min_batch_ms / 1000:g} seconds, so start() fails"
        return text, f"{reason} (the interval is the time between commits, not the latency)", (OSS,)
    return "", "", ()


def written_out(text: str) -> str:
    """Return a duration in the form that Spark accepts, or "5 minutes" if the duration is too short or invalid."""
    milliseconds = time_conf_ms(text) or 0
    if milliseconds < MIN_BATCH_MS:
        return "5 minutes"
    unit = next(name for name in ("hour", "minute", "second") if milliseconds >= UNITS_MS[name])
    count = milliseconds / UNITS_MS[unit]
    return f"{count:g} {unit}{'' if count == 1 else 's'}" if count.is_integer() else f"{milliseconds / 1000:g} seconds"


def _template_problem(template: str) -> tuple[str, str, tuple[str, ...]]:
    unit = template.rpartition("\0")[2].strip().lower()
    if unit in ABBREVIATED_UNITS:
        problem = f"has the unit {unit!r}, which Spark does not recognize, so trigger() fails"
        return template.replace("\0", "{}"), problem, ()
    return "", "", ()
