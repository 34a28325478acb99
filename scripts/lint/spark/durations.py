"""
What is wrong with the value of a real-time trigger.

What arrives is what the value may be; what leaves is how to show it and why Spark refuses it.
Real-time mode demands a text with a duration.
"""

import re

from scripts.lint.rules.rule import OSS_ONLY
from scripts.lint.spark.intervals import interval_ms
from scripts.lint.spark.streams import Value
from scripts.lint.spark.values import Const, Function, Items, Number, Table, Text, Unknown, text_of

PLACEHOLDER = re.compile(r"[<>{}\u2026]|\.\.\.|\b[NXn]\b")


def not_a_text(value: Value) -> str:
    """Return how to show a value that is certainly no text with something in it, or nothing."""
    if isinstance(value, Const):
        is_text = isinstance(value.value, str) and value.value.strip()
        return "" if is_text or value.value is ... else repr(value.value)
    if isinstance(value, Unknown):
        return "timedelta(...)" if value.origin == "datetime.timedelta" else ""
    shown = {Number: "a number", Table: "a dictionary", Items: "a list", Function: "a function"}
    return next((name for kind, name in shown.items() if isinstance(value, kind)), "")


def interval_problem(value: Value, minimum_ms: float) -> tuple[str, str, tuple[str, ...]]:
    """Return a text, what is wrong with it, and for which engines if not for all; nothing if it is right."""
    if isinstance(value, Text):
        return _template_problem(value.template)
    text = text_of(value)
    if text is None or not text.strip() or PLACEHOLDER.search(text):
        return "", "", ()
    length = interval_ms(text)
    if isinstance(length, str) or length <= 0:
        reason = length if isinstance(length, str) else "is not above zero"
        return text, f"{reason}, so the trigger fails", ()
    if length < minimum_ms:
        minimum = f"the minimum of {minimum_ms / 1000:g} seconds"
        return text, f"is below {minimum}, so start() fails (it is the time between commits, no latency)", OSS_ONLY
    return "", "", ()


def _template_problem(template: str) -> tuple[str, str, tuple[str, ...]]:
    unit = template.rpartition("\0")[2].strip().lower()
    if unit in {"ms", "s", "sec", "secs", "m", "min", "mins", "h", "hr", "us"}:
        shown = template.replace("\0", "{}")
        return shown, f"has the unit {unit!r}, which Spark does not know, so the trigger fails", ()
    return "", "", ()
