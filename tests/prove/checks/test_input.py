import json
from collections.abc import Callable

import pytest

from spark_rtm.prove.checks.input import judged, outcome_of
from spark_rtm.prove.records.decoding import NONE, Decoding
from spark_rtm.prove.records.hostile import hostile_records
from spark_rtm.prove.verdicts import GOOD, WRONG
from spark_rtm.testing.records import Received, Sent
from tests.prove.records.test_hostile import GOOD_RECORD, READ

FIELDS = ("id", "amount", "note")


def _parsed(record: Sent) -> dict[str, object]:
    """Return the fields of `from_json`: null for unreadable ones."""
    try:
        found = json.loads(record.value or b"")
    except (ValueError, RecursionError):
        found = None
    found = found if isinstance(found, dict) else {}
    values = {name: found.get(name) for name in FIELDS}
    is_number = isinstance(values["amount"], int) and values["amount"] is not True and values["amount"] < 2**63
    return {**values, "amount": values["amount"] if is_number else None}


def _passing(*names: str) -> Callable[[Sent], Received]:
    """Return a job that rejects records without the fields `names`."""

    def job(record: Sent) -> Received:
        fields = _parsed(record)
        if any(fields[name] is None for name in names):
            text = None if record.value is None else record.value.decode(errors="replace").encode()
            return Received("rejected", None, text, (), 0)
        return Received("good", None, json.dumps(fields).encode(), (), 0)

    return job


def _marking(record: Sent) -> Received:
    fields = _parsed(record)
    corrupt = None if all(fields.values()) else (record.value or b"").decode(errors="replace")
    return Received("all", None, json.dumps({**fields, "corrupt": corrupt}, ensure_ascii=False).encode(), (), 0)


JOBS: dict[str, tuple[Callable[[Sent], Received], str, str]] = {
    "checks nothing": (_passing(), WRONG, 'of which 28 are broken: a null value (null), no id ({"amount": 5, '),
    "checks each field": (_passing("id", "amount", "note"), GOOD, ", 0 broken"),
    "has an optional field": (_passing("id", "amount"), GOOD, ", 0 broken"),
    "checks no type": (_passing("id"), WRONG, "of which 10 are broken: amount: NaN ("),
    "marks bad records": (_marking, GOOD, ", 0 broken"),
}


@pytest.mark.parametrize("name", JOBS)
def test_broken_records_must_not_come_out_as_good_results(name: str) -> None:
    job, status, evidence = JOBS[name]
    kinds = hostile_records(GOOD_RECORD, READ)
    records = {kind: hostile.record for kind, hostile in kinds.items()}
    outcome = outcome_of(records, {kind: [job(r)] for kind, r in records.items()}, [(GOOD_RECORD, job(GOOD_RECORD))])

    (verdict,) = judged(outcome, kinds)

    assert status == verdict.status, verdict.text
    assert f"{len(kinds)} kinds of hostile record tried: {len(outcome.rejected)} rejected" in verdict.evidence
    assert evidence in verdict.evidence
    assert status == GOOD or "reject topic" in verdict.fix


def test_echo_of_bytes_is_not_blamed_for_broken_records() -> None:
    kinds = hostile_records(GOOD_RECORD, Decoding(NONE))
    records = {kind: hostile.record for kind, hostile in kinds.items()}
    echoed = {kind: [Received("good", r.key, r.value, (), 0)] for kind, r in records.items()}
    outcome = outcome_of(records, echoed, [(GOOD_RECORD, echoed["trailing text"][0])])

    (verdict,) = judged(outcome, kinds, "the query does not decode its records")

    assert GOOD == verdict.status
    assert f"0 dropped silently, {len(kinds)} accepted as good, none makes the query fail; the qu" in verdict.evidence
