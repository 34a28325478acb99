"""The number of a user's sessions per day is right after the last click, whatever the order of the clicks."""

import json
from datetime import UTC, datetime

from evals.stage import Answer, newest, outputs, require, require_same
from spark_rtm.prove.subjects.bench import Bench

# Minutes since midnight, in the order of arrival. Sessions end after 30 minutes without a click.
CLICKS = {
    "sorted": [600, 620, 650, 700],
    "late bridge": [600, 650, 720, 625],
    "reversed": [900, 800, 780, 60],
    "repeated": [600, 600, 630, 661],
}
EXPECTED = {"sorted": 2, "late bridge": 2, "reversed": 3, "repeated": 2}
DAY = datetime(2026, 1, 5, tzinfo=UTC)


def verify(bench: Bench, answer: Answer) -> None:
    """Send the clicks of all users, and compare the newest record of each key."""
    start_ms = int(DAY.timestamp()) * 1000
    clicks = [
        {"user": user, "at": start_ms + minute * 60_000} for user, minutes in CLICKS.items() for minute in minutes
    ]
    found = newest(outputs(bench, answer, [json.dumps(click) for click in clicks], partitions=1))
    require_same({f"{user} 2026-01-05" for user in CLICKS}, found, "keys")
    for user, sessions in EXPECTED.items():
        result = found[f"{user} 2026-01-05"].get("sessions")
        require(result == sessions, f"{result!r} sessions instead of {sessions} of the user {user!r}")
