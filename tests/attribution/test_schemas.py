"""The schema of a dataclass: its fields in their order, with Spark's types."""

from dataclasses import dataclass

import pytest

from examples.attribution.credit.processor import CONVERSION, TOUCH
from examples.attribution.schemas import struct_of


@dataclass(frozen=True)
class Part:
    name: str


@dataclass(frozen=True)
class Order:
    value: int
    paid: bool
    note: str | None
    parts: tuple[Part, ...]
    tags: tuple[str, ...] = ()


def test_every_supported_type_has_a_spark_type() -> None:
    """Optional fields are nullable like all others; tuples are arrays, and dataclasses are structs."""
    expected = "struct<value:bigint,paid:boolean,note:string,parts:array<struct<name:string>>,tags:array<string>>"

    assert expected == struct_of(Order).simpleString()


def test_unsupported_type_is_refused() -> None:
    @dataclass
    class Priced:
        price: float

    with pytest.raises(TypeError, match=r"float.*use one of int, str, bool"):
        struct_of(Priced)


def test_state_of_credit_keeps_the_names_in_old_checkpoints() -> None:
    """Checkpoints contain the names and their order, so a renamed field would end a restarted query."""
    assert "result_id version kind is_valid effective_ts event_id impression_id campaign_id stored_at" == " ".join(
        TOUCH.names
    )
    assert "src advertiser_id order_id effective_ts event_id value_micros appended_at stored_at seen_at" == " ".join(
        CONVERSION.names
    )
