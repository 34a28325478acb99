import json
from collections import defaultdict
from typing import Any

import pytest

from benchmarks.harness.workloads import KINDS, answer, is_rejected, is_valid, record, transaction

SEQS = range(12_000)


def test_transaction_has_one_record_of_each_kind_in_order() -> None:
    kinds = defaultdict(list)
    for seq in SEQS:
        if is_valid(seq):
            event = json.loads(record(seq))
            assert (transaction(seq), seq) == (event["id"], event["seq"])
            kinds[event["id"]].append(event["kind"])

    complete = [sent for sent in kinds.values() if len(sent) == len(KINDS)]
    assert 3_000 == len(kinds)
    assert [list(KINDS)] * len(complete) == complete
    assert 2_800 < len(complete) < 3_000


def test_one_in_101_records_is_invalid_in_two_ways() -> None:
    invalid = [seq for seq in SEQS if not is_valid(seq)]
    reasons = [expected["reason"] for seq in invalid if (expected := answer("stateless", seq))]

    assert len(SEQS) // 101 == len(invalid)
    assert abs(reasons.count("missing:id") - reasons.count("unknown_kind")) <= 1
    assert all(is_rejected("stateless", seq) for seq in invalid)


@pytest.mark.parametrize(
    ("seq", "expected"),
    [
        (0, {"request_ts": 1_700_000_000_000, "impressions": 0, "seqs": [0], "last_ts": 1_700_000_000_000}),
        (1000, {"request_ts": 1_700_000_000_000, "impressions": 1, "seqs": [0, 1000], "last_ts": 1_700_000_001_000}),
        (1100, {"impressions": 1, "seqs": [1100], "last_ts": 1_700_000_001_100}),
        (2211, {"request_ts": 1_700_000_000_211, "impressions": 0, "seqs": [211, 2211], "last_ts": 1_700_000_002_211}),
    ],
    ids=["request alone", "with its impression", "after an invalid request", "without its invalid impression"],
)
def test_state_contains_the_valid_records_so_far(seq: int, expected: dict[str, Any]) -> None:
    """An aggregation answers with the state of the transaction right after this record."""
    assert {"seq": seq, "id": transaction(seq), **expected} == answer("stateful", seq)


def test_two_hops_answer_with_the_state_or_the_reject() -> None:
    for seq, rejected in ((1000, False), (1110, True)):
        assert answer("stateless" if rejected else "stateful", seq) == answer("two hops", seq)
        assert rejected == is_rejected("two hops", seq)
