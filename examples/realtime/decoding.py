"""
Parse JSON records with expressions that never throw, name the reason why a record is rejected, and route it.

A row that throws ends its query, and ends it again after each restart (OSS 4.3.0).
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from .limits import MAX_KEY_BYTES, MAX_RAW_BYTES, MAX_RECORD_BYTES

LENIENT = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "corrupt", "allowSingleQuotes": "false"}


def parse(records: DataFrame, schema: StructType, name: str) -> DataFrame:
    """
    Add three columns to Kafka source rows.

    The column `name` holds the fields of `schema` and `corrupt`; `json_pair` is for the checks below; `src` is the
    position of the record, `topic:partition:offset`.
    """
    text = F.when(F.length("value") <= MAX_RECORD_BYTES, F.col("value").cast("string"))
    lenient = StructType([*schema.fields, StructField("corrupt", StringType())])
    return (
        records.withColumn(name, F.from_json(text, lenient, LENIENT))
        # from_json accepts trailing text, repeated fields and a number in place of a string. So the text is also parsed
        # as a variant, as the first of two array elements: an object with trailing text is not an array element.
        .withColumn("json_pair", F.try_parse_json(F.concat(F.lit("["), text, F.lit(',"end"]'))))
        .withColumn("src", F.concat_ws(":", "topic", "partition", F.lpad(F.col("offset").cast("string"), 12, "0")))
    )


def reasons_of_form(name: str, strings: Iterable[str], *further: Column) -> dict[str, Column]:
    """Return the conditions by which a record is not a JSON object of its schema; `strings` are its string fields."""
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
    """Return the type of a field in the JSON text: `STRING`, `VOID` for null; null if the field is missing."""
    return F.schema_of_variant(F.try_variant_get("json_pair", f"$[0].{field}", "variant"))


def first_reason(reasons: Mapping[str, Column]) -> Column:
    """Return the name of the first condition that is true, or null."""
    return F.coalesce(*(F.when(is_wrong, F.lit(reason)) for reason, is_wrong in reasons.items()))


def any_of(conditions: Iterable[Column]) -> Column:
    """Return whether at least one condition is true; null counts as false."""
    return reduce(or_, (F.coalesce(condition, F.lit(False)) for condition in conditions), F.lit(False))


def route(
    decoded: DataFrame, rejects: str, *, key: Column, value: Column, kept_headers: Column, topic: Column | str
) -> DataFrame:
    """
    Turn rows with `reason` and `src` into Kafka sink rows: key, value, headers, topic.

    Rows without a reason get the given columns. Other rows go to the topic `rejects` with their raw key and value; the
    headers `reason`, `src` and `bytes` hold the reason, the position in the source topic and the original length.
    """
    is_rejected = F.col("reason").isNotNull()
    return decoded.select(
        F.when(is_rejected, F.substring("key", 1, MAX_KEY_BYTES)).otherwise(key.cast("binary")).alias("key"),
        F.when(is_rejected, F.substring("value", 1, MAX_RAW_BYTES)).otherwise(value.cast("binary")).alias("value"),
        F.when(is_rejected, _reject_headers()).otherwise(kept_headers).alias("headers"),
        F.when(is_rejected, rejects).otherwise(topic).alias("topic"),
    )


def headers(**values: Column) -> Column:
    """Return Kafka headers: an array of structs with key and binary value."""
    return F.array(*(F.struct(F.lit(k).alias("key"), v.cast("binary").alias("value")) for k, v in values.items()))


def _reject_headers() -> Column:
    length = F.coalesce(F.length("value"), F.lit(0)).cast("string")
    return headers(reason=F.col("reason"), src=F.col("src"), bytes=length)


def _is_one_object() -> Column:
    schema = F.schema_of_variant(F.try_variant_get("json_pair", "$[0]", "variant"))
    second, third = F.try_variant_get("json_pair", "$[1]", "string"), F.try_variant_get("json_pair", "$[2]", "variant")
    return F.coalesce(schema.startswith("OBJECT<") & (second == "end") & third.isNull(), F.lit(False))
