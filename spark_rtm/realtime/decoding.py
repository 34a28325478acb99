"""
Parse JSON records with expressions that never throw, and send invalid records to a reject topic with the reason.

An exception in an expression makes the query fail on the same row after each restart (OSS 4.3.0).
"""

import secrets
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
    Add four columns to Kafka source rows.

    Column `name` contains the fields of `schema` and the `corrupt` field. Column `json_pair` contains the text parsed
    as a variant. Column `json_end` contains the end mark. `reasons_of_form` and `type_of` use `json_pair` and
    `json_end`. Column `src` is the record's position as `topic:partition:offset`.
    """
    # The parser ignores all text after the end of the array. With a known end mark, a producer could close the array
    # and append any text, so each query uses a random end mark. State and checkpoints do not contain the end mark.
    end_mark = secrets.token_hex(16)
    text = F.when(F.length("value") <= MAX_RECORD_BYTES, F.col("value").cast("string"))
    lenient = StructType([*schema.fields, StructField("corrupt", StringType())])
    return (
        records.withColumn(name, F.from_json(text, lenient, LENIENT))
        # `from_json` accepts trailing text, repeated fields and numbers in place of strings. Therefore, the text is
        # also parsed as a variant, as the first element of an array with two elements. An object with trailing text is
        # not a single array element, so the trailing text is detected.
        .withColumn("json_pair", F.try_parse_json(F.concat(F.lit("["), text, F.lit(f',"{end_mark}"]'))))
        .withColumn("json_end", F.lit(end_mark))
        .withColumn("src", F.concat_ws(":", "topic", "partition", F.lpad(F.col("offset").cast("string"), 12, "0")))
    )


def reasons_of_form(name: str, strings: Iterable[str], *further: Column) -> dict[str, Column]:
    """
    Return, by reject reason, the conditions under which a record is not a JSON object with the schema's fields.

    `strings` are the names of the string fields. `further` contains additional conditions for the `wrong_type` reason.
    """
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
    """Return a field's JSON type, such as `STRING`, `VOID` for a null value, or null for a missing field."""
    return F.schema_of_variant(F.try_variant_get("json_pair", f"$[0].{field}", "variant"))


def first_reason(reasons: Mapping[str, Column]) -> Column:
    """Return the first reason whose condition is true, or null."""
    return F.coalesce(*(F.when(is_wrong, F.lit(reason)) for reason, is_wrong in reasons.items()))


def any_of(conditions: Iterable[Column]) -> Column:
    """Return whether any condition is true. Null conditions are treated as false."""
    return reduce(or_, (F.coalesce(condition, F.lit(False)) for condition in conditions), F.lit(False))


def route(
    decoded: DataFrame, rejects: str, *, key: Column, value: Column, kept_headers: Column, topic: Column | str
) -> DataFrame:
    """
    Convert rows with `reason` and `src` columns to Kafka sink rows with key, value, headers and topic.

    Rows without a reason get `key`, `value`, `kept_headers` and `topic`. Rows with a reason go to the `rejects` topic
    with their raw key and value. Their `reason`, `src` and `bytes` headers contain the reason, the source position and
    the original length in bytes.
    """
    is_rejected = F.col("reason").isNotNull()
    length = F.coalesce(F.length("value"), F.lit(0)).cast("string")
    reject_headers = headers(reason=F.col("reason"), src=F.col("src"), bytes=length)
    return decoded.select(
        F.when(is_rejected, F.substring("key", 1, MAX_KEY_BYTES)).otherwise(key.cast("binary")).alias("key"),
        F.when(is_rejected, F.substring("value", 1, MAX_RAW_BYTES)).otherwise(value.cast("binary")).alias("value"),
        F.when(is_rejected, reject_headers).otherwise(kept_headers).alias("headers"),
        F.when(is_rejected, rejects).otherwise(topic).alias("topic"),
    )


def headers(**values: Column) -> Column:
    """Return Kafka headers as an array of structs with a key and a binary value."""
    return F.array(*(F.struct(F.lit(k).alias("key"), v.cast("binary").alias("value")) for k, v in values.items()))


def _is_one_object() -> Column:
    schema = F.schema_of_variant(F.try_variant_get("json_pair", "$[0]", "variant"))
    second, third = F.try_variant_get("json_pair", "$[1]", "string"), F.try_variant_get("json_pair", "$[2]", "variant")
    return F.coalesce(schema.startswith("OBJECT<") & (second == F.col("json_end")) & third.isNull(), F.lit(False))
