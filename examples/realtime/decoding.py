"""
Parse JSON records strictly, with expressions that never throw, and say why a record is refused.

What arrives are Kafka source rows; what leaves are the same rows with the parsed record, its position, and reasons.
Real-time mode demands total expressions: one row that throws ends the query for good, whenever it is restarted.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

MAX_RECORD_BYTES = 100_000
"""A longer record is `oversized`, and is not parsed at all."""
MAX_RAW_BYTES = 1_000_000
"""So much of a refused record is kept."""
MAX_KEY_BYTES = 1024
MAX_NUMBER = 10**15
"""Numbers beyond this cannot be times or amounts, and arithmetic on them would overflow and end the query."""
ID_PATTERN = r"\A[A-Za-z0-9_.:-]{1,128}\z"
"""Ids of records: no slash, because result ids join ids with it."""
LENIENT = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "corrupt", "allowSingleQuotes": "false"}


def parse(records: DataFrame, schema: StructType, name: str) -> DataFrame:
    """Add the column `name` (the fields of `schema` and `corrupt`), `json_pair` for the checks below, and `src`."""
    text = F.when(F.length("value") <= MAX_RECORD_BYTES, F.col("value").cast("string"))
    lenient = StructType([*schema.fields, StructField("corrupt", StringType())])
    return (
        records.withColumn(name, F.from_json(text, lenient, LENIENT))
        # from_json alone accepts {…}trailing, repeated fields and a number as a string, so the text is parsed as a
        # variant too: as first of two elements, because an object with a tail is not an element of an array.
        .withColumn("json_pair", F.try_parse_json(F.concat(F.lit("["), text, F.lit(',"end"]'))))
        .withColumn("src", F.concat_ws(":", "topic", "partition", F.lpad(F.col("offset").cast("string"), 12, "0")))
    )


def reasons_of_form(name: str, strings: Iterable[str], *further: Column) -> dict[str, Column]:
    """Return what makes a parsed record no JSON object of its schema; `strings` are its fields that must be text."""
    wrong_strings = (~type_of(string).isin("STRING", "VOID") for string in strings)
    return {
        "tombstone": F.col("value").isNull(),
        "oversized": F.length("value") > MAX_RECORD_BYTES,
        "empty": F.length("value") == 0,
        "not_utf8": ~F.is_valid_utf8(F.col("value").cast("string")),
        "not_json": ~_is_one_object(),
        "wrong_type": any_of([F.col(f"{name}.corrupt").isNotNull(), *wrong_strings, *further]),
    }


def type_of(field: str) -> Column:
    """Return the type that a field has in the JSON text, such as `STRING`; `VOID` for null, null if it is missing."""
    return F.schema_of_variant(F.try_variant_get("json_pair", f"$[0].{field}", "variant"))


def first_reason(reasons: Mapping[str, Column]) -> Column:
    """Return the name of the first condition that is true, or null for a good row."""
    return F.coalesce(*(F.when(is_wrong, F.lit(reason)) for reason, is_wrong in reasons.items()))


def any_of(conditions: Iterable[Column]) -> Column:
    """Return whether a condition is true; null counts as false."""
    return reduce(or_, (F.coalesce(condition, F.lit(False)) for condition in conditions), F.lit(False))


def route(
    decoded: DataFrame, rejects: str, *, key: Column, value: Column, kept_headers: Column, topic: Column | str
) -> DataFrame:
    """
    Turn rows with `reason` and `src` into Kafka sink rows: good ones as the columns say, the others to `rejects`.

    A refused row keeps its bytes; headers say why, where it came from, and how long it was.
    """
    refused = F.col("reason").isNotNull()
    return decoded.select(
        F.when(refused, F.substring("key", 1, MAX_KEY_BYTES)).otherwise(key.cast("binary")).alias("key"),
        F.when(refused, F.substring("value", 1, MAX_RAW_BYTES)).otherwise(value.cast("binary")).alias("value"),
        F.when(refused, _reject_headers()).otherwise(kept_headers).alias("headers"),
        F.when(refused, rejects).otherwise(topic).alias("topic"),
    )


def headers(**values: Column) -> Column:
    """Return Kafka headers."""
    return F.array(*(F.struct(F.lit(k).alias("key"), v.cast("binary").alias("value")) for k, v in values.items()))


def _reject_headers() -> Column:
    length = F.coalesce(F.length("value"), F.lit(0)).cast("string")
    return headers(reason=F.col("reason"), src=F.col("src"), bytes=length)


def _is_one_object() -> Column:
    schema = F.schema_of_variant(F.try_variant_get("json_pair", "$[0]", "variant"))
    second, third = F.try_variant_get("json_pair", "$[1]", "string"), F.try_variant_get("json_pair", "$[2]", "variant")
    return F.coalesce(schema.startswith("OBJECT<") & (second == "end") & third.isNull(), F.lit(False))
