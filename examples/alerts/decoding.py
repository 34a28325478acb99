"""
Decode JSON records by a schema, and route every row: to the topic that the job chooses, or to the reject topic.

What arrives are Kafka source rows; what leaves are Kafka sink rows: key, value, headers, topic.
Real-time mode demands total expressions: one row that throws, or that has no topic, ends the query for good.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructType

from examples.decoding import (
    LARGEST_NUMBER,
    MOST_KEY_BYTES,
    MOST_RAW_BYTES,
    any_of,
    first_reason,
    headers,
    parse,
    reasons_of_form,
    reject_headers,
)


def decode(records: DataFrame, schema: StructType, checks: Mapping[str, Column]) -> DataFrame:
    """
    Add `record` (the fields of `schema`), `src` (its position) and `reason` to Kafka source rows.

    A row with a null `reason` is good: one JSON object, strings where `schema` has strings, numbers that arithmetic
    can bear, every field that is not nullable in `schema`, and none of `checks`, which map a reason to its condition.
    """
    return parse(records, schema, "record").withColumn("reason", first_reason(_reasons(schema, checks)))


def route(decoded: DataFrame, rejects: str, *, key: Column, value: Column, topic: Column) -> DataFrame:
    """
    Turn decoded rows into Kafka sink rows: good ones as `key`, `value` and `topic` say, the others to `rejects`.

    A rejected row keeps its bytes; headers say why, where it came from, and how long it was. A good row carries its
    position, by which a consumer drops repeats.
    """
    rejected = F.col("reason").isNotNull()
    return decoded.select(
        F.when(rejected, F.substring("key", 1, MOST_KEY_BYTES)).otherwise(key.cast("binary")).alias("key"),
        F.when(rejected, F.substring("value", 1, MOST_RAW_BYTES)).otherwise(value.cast("binary")).alias("value"),
        F.when(rejected, reject_headers()).otherwise(headers(src=F.col("src"))).alias("headers"),
        F.when(rejected, F.lit(rejects)).otherwise(topic).alias("topic"),
    )


def _reasons(schema: StructType, checks: Mapping[str, Column]) -> dict[str, Column]:
    strings = [field.name for field in schema if isinstance(field.dataType, StringType)]
    numbers = [f"record.{field.name}" for field in schema if isinstance(field.dataType, LongType)]
    required = [field.name for field in schema if not field.nullable]
    return {
        **reasons_of_form("record", strings),
        "bad_number": any_of(~F.col(name).between(0, LARGEST_NUMBER) for name in numbers),
        **{f"missing:{name}": F.col(f"record.{name}").isNull() for name in required},
        **checks,
    }
