"""Define the schemas of source records and of `events`, and derive other schemas from the rules' dataclasses."""

from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from pyspark.sql.types import ArrayType, BooleanType, DataType, LongType, StringType, StructField, StructType

TYPES: dict[type, DataType] = {int: LongType(), str: StringType(), bool: BooleanType()}

INPUT = StructType(
    [
        StructField("event_id", StringType()),
        StructField("kind", StringType()),
        StructField("event_ts", LongType()),
        StructField("server_ts", LongType()),
        StructField("transaction_id", StringType()),
        StructField("request_ts", LongType()),
        StructField("campaign_id", StringType()),
        StructField("user_key", StringType()),
        StructField("slots", ArrayType(StringType())),
        StructField("slot_id", StringType()),
        StructField("impression_id", StringType()),
        StructField("creative_length_ms", LongType()),
        StructField("advertiser_id", StringType()),
        StructField("order_id", StringType()),
        StructField("value_micros", LongType()),
    ]
)
"""
Schema of one source record. Times are in milliseconds since the epoch (UTC), and `value_micros` is in millionths of the
currency unit.

    {"event_id": "run-e735", "kind": "request", "transaction_id": "run-t734", "campaign_id": "run-campaign-0",
     "user_key": "user-4940", "slots": ["slot-0", "slot-1", "slot-2"],
     "event_ts": 1767225577743, "server_ts": 1767225606850, "request_ts": 1767225577743}
"""

EVENTS = StructType(
    [
        *INPUT.fields,
        StructField("effective_ts", LongType()),
        StructField("clock_skew", BooleanType()),
        StructField("src", StringType()),
        StructField("appended_at", LongType()),
    ]
)
"""
Schema of one accepted event.

Four fields are added to those of the source record: the effective time, whether the clocks of the device and the
collector differ by more than `clock_skew_limit_ms`, and the record's position and append time in the source topic.

    {"event_id": "run-e735", "kind": "request", "event_ts": 1767225577743, "server_ts": 1767225606850,
     "transaction_id": "run-t734", "request_ts": 1767225577743, "campaign_id": "run-campaign-0",
     "user_key": "user-4940", "slots": ["slot-0", "slot-1", "slot-2"], "effective_ts": 1767225577743,
     "clock_skew": false, "src": "ad-requests:0:000000000079", "appended_at": 1767225606852}
"""


def struct_of(kind: type) -> StructType:
    """
    Return the schema of a dataclass. The fields keep their order, and all of them are nullable.

    A tuple becomes an array, and a nested dataclass becomes a struct. Raise TypeError for any other type that is
    not in `TYPES`.
    """
    hints = get_type_hints(kind)
    return StructType([StructField(field.name, _type_of(hints[field.name])) for field in fields(kind)])


def _type_of(hint: Any) -> DataType:
    if isinstance(hint, UnionType):
        (hint,) = (one for one in get_args(hint) if one is not NoneType)
    if get_origin(hint) is tuple:
        return ArrayType(_type_of(get_args(hint)[0]))
    if is_dataclass(hint) and isinstance(hint, type):
        return struct_of(hint)
    if hint not in TYPES:
        raise TypeError(f"{hint!r} has no Spark type here; use one of {', '.join(one.__name__ for one in TYPES)}")
    return TYPES[hint]
