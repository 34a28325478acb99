"""The kinds of events, and the result codes that count as delivered. Plain Python: the rules need no Spark."""

STEPS = ("start", "first_quartile", "midpoint", "third_quartile", "complete")
"""Playback steps in their order of time."""
KINDS = ("request", "impression", "click", *STEPS, "conversion")
FAMILIES = ("impression", "click")
"""Kinds with their own result codes; all playback steps share the codes of the family `step`."""
BILLABLE = ("matched", "matched_late_request")
"""Codes of an impression that fills its slot."""
