"""A reader that upserts gets exactly the pairs of impression and click within two minutes."""

import json

from evals.stage import Answer, newest, require_same, trial
from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.testing.records import Sent

START_MS = 1_700_000_000_000
# User, id, seconds.
IMPRESSIONS = [("u1", "i1", 0), ("u1", "i2", 30), ("u1", "i3", 100), ("u2", "i4", 0), ("u3", "i5", 200)]
CLICKS = [("u1", "c1", 60), ("u1", "c2", 180), ("u2", "c3", 120), ("u2", "c4", 121), ("u3", "c5", 100)]
PAIRS = [
    f"{impression}/{click}"
    for user, impression, shown in IMPRESSIONS
    for clicker, click, clicked in CLICKS
    if user == clicker and 0 <= clicked - shown <= 120
]
INTERVAL_MS = 1_000


def verify(bench: Bench, answer: Answer) -> None:
    """Send the clicks before the impressions, and compare the newest record of each key with the pairs."""
    with trial(bench, answer, "impressions", "clicks") as run:
        query = run.start("query", INTERVAL_MS)
        for topic, events in reversed(list(zip(run.partitions, (IMPRESSIONS, CLICKS), strict=True))):
            run.send([_record(*event) for event in events], topic)
            run.wait_for_commit(query, 30)
        found = newest(run.received())
    require_same(PAIRS, found, "pairs")
    require_same(PAIRS, (f"{pair.get('impression')}/{pair.get('click')}" for pair in found.values()), "values")


def _record(user: str, name: str, seconds: int) -> Sent:
    event = {"user": user, "id": name, "at": START_MS + 1000 * seconds}
    return Sent(json.dumps(event).encode(), user.encode())
