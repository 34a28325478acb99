"""
Decode JSON records by a schema, and route every row: to the topic that the job chooses, or to the reject topic.

What arrives are Kafka source rows; what leaves are Kafka sink rows: key, value, headers, topic.
Real-time mode demands total expressions: one row that throws, or that has no topic, ends the query for good.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from examples.attribution.kafka_to_events import LARGEST_NUMBER, MOST_BYTES, MOST_RAW_BYTES

OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "corrupt", "allowSingleQuotes": "false"}
MOST_KEY_BYTES = 1024


def decode(records: DataFrame, schema: StructType, checks: Mapping[str, Column]) -> DataFrame:
    """
    Add `record` (the fields of `schema`), `src` (its position) and `reason` to Kafka source rows.

    A row with a null `reason` is good: one JSON object, strings where `schema` has strings, numbers that arithmetic
    can bear, every field that is not nullable in `schema`, and none of `checks`, which map a reason to its condition.
    """
    text = F.when(F.length("value") <= MOST_BYTES, F.col("value").cast("string"))
    lenient = StructType([*schema.fields, StructField("corrupt", StringType())])
    return (
        records.withColumn("record", F.from_json(text, lenient, OPTIONS))
        # from_json alone accepts {…}trailing, repeated fields and a number as a string, so the text is parsed as a
        # variant too: as first of two elements, because an object with a tail is not an element of an array.
        .withColumn("pair", F.try_parse_json(F.concat(F.lit("["), text, F.lit(',"end"]'))))
        .withColumn("src", F.concat_ws(":", "topic", "partition", F.lpad(F.col("offset").cast("string"), 12, "0")))
        .withColumn("reason", _first_reason(schema, checks))
    )


def route(decoded: DataFrame, rejects: str, *, key: Column, value: Column, topic: Column) -> DataFrame:
    """
    Turn decoded rows into Kafka sink rows: good ones as `key`, `value` and `topic` say, the others to `rejects`.

    A rejected row keeps its bytes; headers say why, where it came from, and how long it was. A good row carries its
    position, by which a consumer drops repeats.
    """
    rejected = F.col("reason").isNotNull()
    length = F.coalesce(F.length("value"), F.lit(0)).cast("string")
    why = _headers(reason=F.col("reason"), src=F.col("src"), bytes=length)
    return decoded.select(
        F.when(rejected, F.substring("key", 1, MOST_KEY_BYTES)).otherwise(key.cast("binary")).alias("key"),
        F.when(rejected, F.substring("value", 1, MOST_RAW_BYTES)).otherwise(value.cast("binary")).alias("value"),
        F.when(rejected, why).otherwise(_headers(src=F.col("src"))).alias("headers"),
        F.when(rejected, F.lit(rejects)).otherwise(topic).alias("topic"),
    )


def _first_reason(schema: StructType, checks: Mapping[str, Column]) -> Column:
    required = [field.name for field in schema if not field.nullable]
    numbers = [f"record.{field.name}" for field in schema if isinstance(field.dataType, LongType)]
    reasons = {
        "tombstone": F.col("value").isNull(),
        "oversized": F.length("value") > MOST_BYTES,
        "empty": F.length("value") == 0,
        "not_utf8": ~F.is_valid_utf8(F.col("value").cast("string")),
        "not_json": ~_is_one_object(),
        "wrong_type": F.col("record.corrupt").isNotNull() | _has_wrong_string(schema),
        "bad_number": _any(~F.col(name).between(0, LARGEST_NUMBER) for name in numbers),
        **{f"missing:{name}": F.col(f"record.{name}").isNull() for name in required},
        **checks,
    }
    return F.coalesce(*(F.when(is_wrong, F.lit(reason)) for reason, is_wrong in reasons.items()))


def _is_one_object() -> Column:
    schema = F.schema_of_variant(F.try_variant_get("pair", "$[0]", "variant"))
    second, third = F.try_variant_get("pair", "$[1]", "string"), F.try_variant_get("pair", "$[2]", "variant")
    return F.coalesce(schema.startswith("OBJECT<") & (second == "end") & third.isNull(), F.lit(False))


def _has_wrong_string(schema: StructType) -> Column:
    strings = [field.name for field in schema if isinstance(field.dataType, StringType)]
    types = (F.schema_of_variant(F.try_variant_get("pair", f"$[0].{name}", "variant")) for name in strings)
    return _any(~found.isin("STRING", "VOID") for found in types)


def _any(conditions: Iterable[Column]) -> Column:
    return reduce(or_, (F.coalesce(condition, F.lit(False)) for condition in conditions), F.lit(False))


def _headers(**values: Column) -> Column:
    return F.array(*(F.struct(F.lit(k).alias("key"), v.cast("binary").alias("value")) for k, v in values.items()))
