"""Every payment is in the ledger, and each large payment is also among the alerts."""

import json

from evals.stage import Answer, outputs, require_same
from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.testing.records import Sent

AMOUNTS = (5, 99_999, 100_000, 250_000)


def verify(bench: Bench, answer: Answer) -> None:
    """Send payments below, at and above the limit, and compare the records of both topics."""
    sent = [Sent(json.dumps({"amount_cents": amount}).encode(), str(amount).encode()) for amount in AMOUNTS]
    found = outputs(bench, answer, sent)
    large = [record for record in sent if int(record.key or b"0") >= 100_000]
    for topic, expected in (("ledger", sent), ("alerts", large)):
        written = [(record.key, record.value) for record in found if record.topic == topic]
        require_same([(record.key, record.value) for record in expected], written, f"records of {topic}")
    require_same([], [record.topic for record in found if record.topic not in ("ledger", "alerts")], "topics")
