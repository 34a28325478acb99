"""
The works that engines are measured with, in plain Python: what goes in, and what must come out.

What arrives are sequence numbers; what leaves are input records and the result that each must give.
Latencies compare only between engines that do the same work, so every output of every run is held against this replay.
"""

import json
from typing import Any, Literal

Work = Literal["echo", "stateless", "stateful", "two hops"]
"""
`stateless`: decode, validate, project, route: one output per input, in the target topic or in the rejected one.
`stateful`: per transaction the first request, the impressions, all sequence numbers and the last time; one JSON for
each valid input, or for several at once in an engine that merges. `two hops`: both, with a topic in between.
`echo`: the input as it is, which is the floor.
"""

KINDS = ("request", "impression", "click", "complete")
INTERLEAVED = 1_000
"""Transactions that are open at any time; each has one record of each kind."""
BLOCK = INTERLEAVED * len(KINDS)
ONE_INVALID_OF = 101
"""A prime, so that invalid records fall on every kind and every transaction in turn."""
UNKNOWN_KIND = "unknown"
FIRST_TS = 1_700_000_000_000


def is_valid(seq: int) -> bool:
    """Tell whether the record with this number can be decoded."""
    return seq % ONE_INVALID_OF != ONE_INVALID_OF - 1


def transaction(seq: int) -> str:
    """Return the transaction, which is the Kafka key of the record also where the record does not tell it."""
    return f"t{seq // BLOCK * INTERLEAVED + seq % INTERLEAVED}"


def record(seq: int) -> str:
    """
    Return the input record as the load program writes it.

    For instance {"id":"t17","seq":1017,"kind":"impression","ts":1700000001017,"amount":17}
    """
    # One half of the invalid records has no id, the other a kind that does not exist.
    has_id = is_valid(seq) or seq // ONE_INVALID_OF % 2 == 1
    kind = KINDS[seq % BLOCK // INTERLEAVED] if is_valid(seq) or not has_id else UNKNOWN_KIND
    start = f'{{"id":"{transaction(seq)}","seq"' if has_id else '{"seq"'
    return f'{start}:{seq},"kind":"{kind}","ts":{FIRST_TS + seq},"amount":{seq % 100}}}'


def result(work: Work, seq: int) -> dict[str, Any] | None:
    """Return the JSON that answers this record, or None if it needs no answer; an absent field is the same as null."""
    if work == "echo":
        return dict(json.loads(record(seq)))
    if is_valid(seq):
        return dict(json.loads(record(seq))) if work == "stateless" else _state(seq)
    if work == "stateful":
        return None
    raw = record(seq)
    return {"reason": "unknown_kind" if '"id"' in raw else "missing:id", "raw": raw}


def is_rejected(work: Work, seq: int) -> bool:
    """Tell whether the answer belongs into the topic of rejected records."""
    return work in {"stateless", "two hops"} and not is_valid(seq)


def _state(seq: int) -> dict[str, Any]:
    first = seq // BLOCK * BLOCK + seq % INTERLEAVED
    seqs = [number for number in range(first, seq + 1, INTERLEAVED) if is_valid(number)]
    return {
        "seq": seq,
        "id": transaction(seq),
        **({"request_ts": FIRST_TS + first} if is_valid(first) else {}),
        "impressions": int(first + INTERLEAVED in seqs),
        "seqs": seqs,
        "last_ts": FIRST_TS + seq,
    }
