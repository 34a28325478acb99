"""
Decode the records of the three source topics into typed events, and route invalid records to the reject topic.

The decoding expression raises no error for any input, because an error would make the query fail at the same record
again after every restart. A record in `ad-rejected` contains the raw value of the source record. The headers contain
the reject reason, the position in the source topic, and the original length of the value in bytes.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType

from examples.attribution.correlation.rule import STEPS
from examples.attribution.schemas import EVENTS, INPUT
from examples.attribution.settings import Settings
from examples.attribution.topics import EVENTS_TOPIC, REJECTED_TOPIC
from spark_rtm.realtime.decoding import first_reason, parse, reasons_of_form, route, type_of
from spark_rtm.realtime.limits import ID_PATTERN, MAX_HEADERS, MAX_NUMBER

KINDS_OF_TOPIC = {
    "ad-requests": ("request",),
    "ad-impressions": ("impression",),
    "ad-callbacks": ("click", *STEPS, "conversion"),
}
ALL_KINDS = tuple(kind for kinds in KINDS_OF_TOPIC.values() for kind in kinds)
KINDS_IN_TRANSACTION = tuple(kind for kind in ALL_KINDS if kind != "conversion")
KINDS_WITH_IMPRESSION = tuple(kind for kind in KINDS_IN_TRANSACTION if kind != "request")
KINDS_REQUIRING = {
    "event_id": ALL_KINDS,
    "event_ts": ALL_KINDS,
    "server_ts": ALL_KINDS,
    "transaction_id": KINDS_IN_TRANSACTION,
    "request_ts": KINDS_IN_TRANSACTION,
    "campaign_id": KINDS_IN_TRANSACTION,
    "slots": ("request",),
    "impression_id": KINDS_WITH_IMPRESSION,
    "slot_id": ("impression",),
    "creative_length_ms": ("impression",),
    "advertiser_id": ("conversion",),
    "order_id": ("conversion",),
    "value_micros": ("conversion",),
}
IDS = tuple(field.name for field in INPUT if isinstance(field.dataType, StringType) and field.name != "kind")
NUMBERS = tuple(field.name for field in INPUT if isinstance(field.dataType, LongType))
MAX_SLOTS = 16
SEND_TIME_PATTERN = r"\A[0-9]{1,16}\z"
HEADERS_TYPE = "array<struct<key:string,value:binary>>"


def kafka_to_events(records: DataFrame, settings: Settings) -> DataFrame:
    """
    Convert Kafka source rows, read with `includeHeaders`, into Kafka sink rows with key, value, headers and topic.

    Every input row produces exactly one output row. A row for `events` contains an `EVENTS` struct as JSON, and its key
    is the first id that the event has: transaction id, user key or order id. A row for `ad-rejected` contains the raw
    value. Of the source headers, only the first valid `t0` (the intended send time) is kept, which limits the size of
    an output row.
    """
    decoded = _decode(records, settings).withColumn("reason", _reject_reason(settings))
    event = F.to_json(F.struct(*(F.col(f"event.{name}") for name in INPUT.names), *EVENTS.names[len(INPUT) :]))
    event_key = F.coalesce("event.transaction_id", "event.user_key", "event.order_id")
    return route(
        decoded,
        settings.topic(REJECTED_TOPIC),
        key=event_key,
        value=event,
        kept_headers=_kept_headers(),
        topic=settings.topic(EVENTS_TOPIC),
    )


def _decode(records: DataFrame, settings: Settings) -> DataFrame:
    skew_ms = F.abs(_in_range("event_ts") - _in_range("server_ts"))
    return (
        parse(records, INPUT, "event")
        .withColumn("clock_skew", skew_ms > settings.windows.clock_skew_limit_ms)
        .withColumn(
            "effective_ts", F.when(F.col("clock_skew"), F.col("event.server_ts")).otherwise(F.col("event.event_ts"))
        )
        .withColumn("appended_at", F.unix_millis("timestamp"))
    )


def _in_range(name: str) -> Column:
    value = F.col(f"event.{name}")
    return F.when(value.between(0, MAX_NUMBER), value)


def _reject_reason(settings: Settings) -> Column:
    """Return the first reason for rejecting the row, or null if the row is valid."""
    kind, windows = F.col("event.kind"), settings.windows
    has_wrong_slots = ~type_of("slots").isin("ARRAY<STRING>", "ARRAY<VOID>", "VOID")
    reasons = {
        "bad_headers": F.size("headers") > MAX_HEADERS,
        **reasons_of_form("event", ("kind", *IDS), has_wrong_slots),
        "missing:kind": kind.isNull(),
        "unknown_kind": ~_is_kind_of_topic(settings),
        **{f"missing:{name}": F.col(f"event.{name}").isNull() & kind.isin(*k) for name, k in KINDS_REQUIRING.items()},
        **{f"bad_id:{name}": ~F.col(f"event.{name}").rlike(ID_PATTERN) for name in IDS},
        "bad_slots": ~_is_slots(F.col("event.slots")),
        **{f"bad_number:{name}": F.col(f"event.{name}").isNotNull() & _in_range(name).isNull() for name in NUMBERS},
    }
    is_too_long = F.col("event.creative_length_ms") > windows.max_creative_ms
    ages = {name: F.unix_millis("timestamp") - _in_range(name) for name in ("server_ts", "request_ts")}
    return F.coalesce(
        first_reason(reasons),
        F.when(is_too_long, F.lit("bad_number:creative_length_ms")),
        *(F.when(age < -windows.clock_skew_limit_ms, F.lit(f"future:{name}")) for name, age in ages.items()),
        *(F.when(age > windows.horizon_ms, F.lit(f"expired:{name}")) for name, age in ages.items()),
    )


def _is_kind_of_topic(settings: Settings) -> Column:
    pairs = ((settings.topic(topic), kinds) for topic, kinds in KINDS_OF_TOPIC.items())
    matches = ((F.col("topic") == topic) & F.col("event.kind").isin(*kinds) for topic, kinds in pairs)
    return reduce(lambda left, right: left | right, matches)


def _is_slots(slots: Column) -> Column:
    all_named = F.forall(slots, lambda slot: F.coalesce(slot.rlike(ID_PATTERN), F.lit(False)))
    return F.size(slots).between(1, MAX_SLOTS) & all_named


def _kept_headers() -> Column:
    def is_send_time(header: Column) -> Column:
        return (header["key"] == "t0") & header["value"].cast("string").rlike(SEND_TIME_PATTERN)

    headers = F.coalesce("headers", F.array().cast(HEADERS_TYPE))
    return F.slice(F.filter(headers, is_send_time), 1, 1)
