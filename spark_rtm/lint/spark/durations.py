"""Find problems in the value of a real-time trigger, which must be a non-empty duration string."""

import re

from spark_rtm.lint.spark.intervals import interval_ms
from spark_rtm.lint.spark.values import Const, Function, Items, Number, Table, Text, Unknown, Value, quoted, text_of
from spark_rtm.text.finding import OSS

PLACEHOLDER = re.compile(r"[<>{}\u2026]|\.\.\.|\b[NXn]\b")
ABBREVIATED_UNITS = {"ms", "s", "sec", "secs", "m", "min", "mins", "h", "hr", "us"}


def not_a_text(value: Value) -> str:
    """Return a description of a value that cannot be a non-empty string, or an empty string for any other value."""
    if isinstance(value, Const):
        is_text = isinstance(value.value, str) and value.value.strip()
        return "" if is_text or value.value is ... else quoted(value.value)
    if isinstance(value, Unknown):
        return "timedelta(...)" if value.origin == "datetime.timedelta" else ""
    names = {Number: "a number", Table: "a dictionary", Items: "a list", Function: "a function"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "")


def interval_problem(value: Value, min_batch_ms: float) -> tuple[str, str, tuple[str, ...]]:
    """
    Return the interval, its problem and the affected engines, or three empty values if there is no problem.

    If there is a problem, an empty tuple of engines means that all engines are affected.
    """
    if isinstance(value, Text):
        return _template_problem(value.template)
    text = text_of(value)
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


def _template_problem(template: str) -> tuple[str, str, tuple[str, ...]]:
    unit = template.rpartition("\0")[2].strip().lower()
    if unit in ABBREVIATED_UNITS:
        problem = f"has the unit {unit!r}, which Spark does not recognize, so trigger() fails"
        return template.replace("\0", "{}"), problem, ()
    return "", "", ()
