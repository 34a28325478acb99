"""Define the kinds of events, and the result codes of delivered impressions. The rules need no Spark."""

STEPS = ("start", "first_quartile", "midpoint", "third_quartile", "complete")
"""Playback steps in chronological order."""
FAMILIES = ("impression", "click")
"""Kinds of events with their own result codes. All playback steps share one set of codes, named `step`."""
BILLABLE = ("matched", "matched_late_request")
"""Result codes of impressions that fill their ad slots."""
