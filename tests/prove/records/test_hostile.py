from dataclasses import replace

import pytest
from pyspark.sql.types import StructType

from spark_rtm.prove.records.decoding import CSV, JSON, Decoding
from spark_rtm.prove.records.hostile import FORM, MISSING, NOTHING, TYPE, hostile_records
from spark_rtm.prove.records.plan import Comparison
from spark_rtm.testing.records import Sent

GOOD_RECORD = Sent(b'{"id": "a", "amount": 5, "note": "n"}', b"k")
PAIR = StructType().add("id", "string").add("amount", "long")
READ = Decoding(JSON, StructType(PAIR.fields).add("note", "string"))


def test_hostile_records_cover_the_form_and_each_field() -> None:
    kinds = hostile_records(GOOD_RECORD, READ)
    records = {name: hostile.record for name, hostile in kinds.items()}

    assert {"a null value", "broken JSON", "bad UTF-8", "deep nesting", "a value of 1 MB", "a null key"} <= set(records)
    assert {"amount: text", "amount: NaN", "amount: a huge number", "id: an object", "no id"} <= set(records)
    assert b'"id": "again"}' in (records["a repeated field"].value or b"")
    assert b'"amount": 1e999999,' in (records["amount: a huge exponent"].value or b"")
    assert "no headers" not in records


def test_hostile_records_change_the_headers_of_a_query_that_reads_them() -> None:
    """Headers are missing, repeated, unknown or without a value; all other kinds keep them."""
    sample = replace(GOOD_RECORD, headers=(("trace", b"a1"),))
    headers = {name: hostile.record.headers for name, hostile in hostile_records(sample, READ).items()}

    assert () == headers.pop("no headers")
    assert (("unknown", b"a"),) == headers.pop("an unknown header")
    assert sample.headers * 2 == headers.pop("repeated headers")
    assert [b"", None, b"\xff\xfe"] == [
        headers.pop(f"headers: {kind}")[0][1] for kind in ("empty", "null", "bad UTF-8")
    ]
    assert {sample.headers} == set(headers.values())


@pytest.mark.parametrize(
    ("value", "decoding", "kind", "breaks"),
    [
        (GOOD_RECORD.value, READ, "broken JSON", FORM),
        (GOOD_RECORD.value, READ, "amount: text", TYPE),
        (GOOD_RECORD.value, READ, "no note", MISSING),
        (b'{"id": "a", "unread": 5}', READ, "no unread", NOTHING),
        (b'{"amount": 5}', Decoding("other"), "amount: text", TYPE),
        (b"a;5", Decoding(CSV, PAIR, ";"), "amount: text", TYPE),
        (b"a;5", Decoding(CSV, PAIR, ";"), "one column", FORM),
    ],
)
def test_kind_breaks_what_its_reader_loses(value: bytes, decoding: Decoding, kind: str, breaks: str) -> None:
    """A kind is broken if the reader finds no field, a value of a wrong type, or no value for a field."""
    assert breaks == hostile_records(Sent(value), decoding)[kind].breaks


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("EqualTo", "x", ["x", "xa", ""]),
        ("In", ("x", "y"), ["x", "y", "xa", ""]),
        ("Like", "x-*", ["x-", "other"]),
        ("GreaterThan", 5, [6, 4, 5, 50]),
        ("EqualTo", True, [True, False]),
    ],
)
def test_values_lie_on_both_sides_of_a_literal(operator: str, value: object, expected: list[object]) -> None:
    assert expected == Comparison(frozenset("f"), operator, value, is_wanted=True, is_filter=True).sides()
