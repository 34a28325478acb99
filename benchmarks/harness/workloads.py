"""The benchmark workloads in plain Python: the input records, and the correct output for each record."""

import json
from dataclasses import dataclass
from typing import Any, Literal

Workload = Literal["echo", "stateless", "stateful", "two hops", "counts"]
"""
`echo`: copy the record. This is the workload of the baseline.
`stateless`: decode, validate, project and route. One output per record, in the target topic or the reject topic.
`stateful`: for each transaction, the first request, the number of impressions, all sequence numbers and the last time.
One output per valid record, or one output for several records if the engine merges outputs.
`two hops`: `stateless` followed by `stateful`, with a topic in between.
`counts`: the number of records of each key. A `Shape` sets the number of keys and the size of the records. One output
per record.
"""

KINDS = ("request", "impression", "click", "complete")
OPEN_TRANSACTIONS = 1_000
"""Number of open transactions at a time, with one record of each kind."""
BLOCK = OPEN_TRANSACTIONS * len(KINDS)
INVALID_EVERY = 101
"""Distance between invalid records. A prime number spreads them across all kinds and transactions."""
UNKNOWN_KIND = "unknown"
FIRST_TS = 1_700_000_000_000


@dataclass(frozen=True)
class Shape:
    """Keys and record size of the `counts` workload. Other workloads ignore it."""

    keys: int = 1_000
    """Number of keys. Consecutive records have different keys."""
    stride: int = 1
    """Distance between two keys. The keys are spread over a state of `keys * stride` keys."""
    record_bytes: int = 200
    """Size of each record's value in bytes; at least 50."""


def is_valid(seq: int) -> bool:
    """Return whether the record with this sequence number can be decoded."""
    return seq % INVALID_EVERY != INVALID_EVERY - 1


def transaction(seq: int) -> str:
    """Return a record's transaction id. It is also the record's Kafka key, even if the value contains no id."""
    return f"t{seq // BLOCK * OPEN_TRANSACTIONS + seq % OPEN_TRANSACTIONS}"


def record(seq: int) -> str:
    """Return the input record, e.g. {"id":"t17","seq":1017,"kind":"impression","ts":1700000001017,"amount":17}."""
    # Half of the invalid records have no id. The other half have an unknown kind.
    has_id = is_valid(seq) or seq // INVALID_EVERY % 2 == 1
    kind = KINDS[seq % BLOCK // OPEN_TRANSACTIONS] if is_valid(seq) or not has_id else UNKNOWN_KIND
    start = f'{{"id":"{transaction(seq)}","seq"' if has_id else '{"seq"'
    return f'{start}:{seq},"kind":"{kind}","ts":{FIRST_TS + seq},"amount":{seq % 100}}}'


def key_of_count(shape: Shape, seq: int) -> str:
    """Return the id of a `counts` record, which is also its Kafka key."""
    return f"k{seq % shape.keys * shape.stride}"


def count(shape: Shape, seq: int) -> dict[str, Any]:
    """Return the correct output of the `counts` workload for a record."""
    return {"id": key_of_count(shape, seq), "seq": seq, "count": seq // shape.keys + 1}


def answer(workload: Workload, seq: int) -> dict[str, Any] | None:
    """Return the correct output for a record, or None if it has no output. A null field counts as missing."""
    if workload == "echo":
        return dict(json.loads(record(seq)))
    if is_valid(seq):
        return dict(json.loads(record(seq))) if workload == "stateless" else _state(seq)
    if workload == "stateful":
        return None
    raw = record(seq)
    return {"reason": "unknown_kind" if '"id"' in raw else "missing:id", "raw": raw}


def is_rejected(workload: Workload, seq: int) -> bool:
    """Return whether the record's output belongs in the reject topic."""
    return workload in {"stateless", "two hops"} and not is_valid(seq)


def _state(seq: int) -> dict[str, Any]:
    first = seq // BLOCK * BLOCK + seq % OPEN_TRANSACTIONS
    seqs = [number for number in range(first, seq + 1, OPEN_TRANSACTIONS) if is_valid(number)]
    return {
        "seq": seq,
        "id": transaction(seq),
        **({"request_ts": FIRST_TS + first} if is_valid(first) else {}),
        "impressions": int(first + OPEN_TRANSACTIONS in seqs),
        "seqs": seqs,
        "last_ts": FIRST_TS + seq,
    }
