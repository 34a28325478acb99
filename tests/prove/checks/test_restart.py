import pytest

from spark_rtm.prove.checks.restart import compared, renamed
from spark_rtm.prove.verdicts import GOOD, WRONG
from spark_rtm.testing.records import Received, Sent

A, B = (Received("", None, value, (), 0) for value in (b"a", b"b"))


@pytest.mark.parametrize(
    ("before", "again", "expected", "status", "evidence"),
    [
        ([A, B], [A, B, A, B], 4, GOOD, "0 results lost, 2 uncommitted results written again, byte for byte identical"),
        ([A], [A, B], 0, GOOD, "0 results lost, 1 unc"),
        ([A, B], [A], 2, WRONG, "1 results lost"),
        ([A], [B, A, A], 2, WRONG, "the uncommitted records have 2 results, but the restart wrote 3"),
        ([A, B], [A, A], 2, WRONG, "1 of them with different bytes"),
    ],
    ids=["written again", "unknown number", "lost", "committed", "other bytes"],
)
def test_results_before_and_after_a_kill_are_compared(
    before: list[Received], again: list[Received], expected: int, status: str, evidence: str
) -> None:
    """Each uncommitted result must be written again with the same bytes."""
    verdict = compared(before, again, expected)

    assert status == verdict.status
    assert evidence in verdict.evidence


def test_new_records_keep_times_truth_values_and_compared_strings() -> None:
    value = b'{"id": "a", "kind": "sale", "amount": 5, "event_ts": 7, "is_paid": true, "note": null}'
    changed = b'{"id": "a1", "kind": "sale", "amount": 7, "event_ts": 7, "is_paid": true, "note": null}'

    assert Sent(changed, b"k1") == renamed(Sent(value, b"k"), 1, {"sale"})
