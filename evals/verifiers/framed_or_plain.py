"""Facts in Avro, with and without the header of a schema registry, are decoded, and all other records are rejected."""

from evals.stage import Answer, fields, outputs, require_same
from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.testing.records import Sent

FRAME = bytes(4) + b"\x01"
FACTS = {b"\x04f1\x02": {"fact_id": "f1", "amount": 1}, b"\x04f2\xc8\x01": {"fact_id": "f2", "amount": 100}}
BROKEN = (None, b"", b"\x04f", FRAME, FRAME + b"\x04f3")


def verify(bench: Bench, answer: Answer) -> None:
    """Send each fact with and without the header, and truncated records."""
    good = {frame + data: fact for frame in (b"", FRAME) for data, fact in FACTS.items()}
    values = [*good, *BROKEN]
    found = outputs(bench, answer, [Sent(value, str(n).encode()) for n, value in enumerate(values)])
    facts = [(record.key, *fields(record).items()) for record in found if record.topic == "facts"]
    wanted = [(str(n).encode(), *fact.items()) for n, fact in enumerate(good.values())]
    require_same(wanted, facts, "facts")
    rejected = [(record.key, record.value) for record in found if record.topic == "facts-rejected"]
    require_same(
        [(str(n).encode(), value) for n, value in enumerate(values) if value not in good], rejected, "rejected records"
    )
