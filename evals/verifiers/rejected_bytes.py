"""Good payments and rejected records arrive with their bytes, and no record is lost or makes the query fail."""

from evals.stage import Answer, outputs, require, require_same
from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.testing.records import Sent

GOOD = [b'{"card":"c1","amount_cents":5}', b'{"amount_cents":0,"card":"c2","note":"x"}']
BAD = {
    "text after the object": b'{"card":"c1","amount_cents":5}tail',
    "a number as card": b'{"card":7,"amount_cents":5}',
    "a negative amount": b'{"card":"c1","amount_cents":-1}',
    "a fraction": b'{"card":"c1","amount_cents":1.5}',
    "text as amount": b'{"card":"c1","amount_cents":"x"}',
    "no card": b'{"amount_cents":5}',
    "half an object": b'{"card":"c1","amou',
    "invalid UTF-8": b'{"card":"\xff\xfe","amount_cents":5}',
    "an empty value": b"",
    "a null value": None,
}


def verify(bench: Bench, answer: Answer) -> None:
    """Send good and bad records, and compare topic, key and bytes of each output."""
    good = [Sent(value, b"good\xff%d" % number) for number, value in enumerate(GOOD)]
    bad = [Sent(value, f"bad {number}".encode()) for number, value in enumerate(BAD.values())]
    found = outputs(bench, answer, [*good, *bad])
    accepted = {record.key for record in found if record.topic == "payments-checked"}
    kinds = [kind for kind, record in zip(BAD, bad, strict=True) if record.key in accepted]
    require(not kinds, f"accepted as good: {', '.join(kinds)}")
    for topic, sent in (("payments-checked", good), ("payments-rejected", bad)):
        written = [(record.key, record.value) for record in found if record.topic == topic]
        require_same([(record.key, record.value) for record in sent], written, f"records of {topic}")
