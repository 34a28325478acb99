"""
Decode JSON records by a schema, and route every row: to the topic that the job chooses, or to the reject topic.

What arrives are Kafka source rows; what leaves are Kafka sink rows: key, value, headers, topic.
Real-time mode demands total expressions: one row that throws, or that has no topic, ends the query for good.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructType

from examples.realtime import decoding
from examples.realtime.decoding import MAX_NUMBER, any_of, first_reason, parse, reasons_of_form


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

    A good row carries its position, by which a consumer drops repeats.
    """
    return decoding.route(
        decoded, rejects, key=key, value=value, kept_headers=decoding.headers(src=F.col("src")), topic=topic
    )


def _reasons(schema: StructType, checks: Mapping[str, Column]) -> dict[str, Column]:
    strings = [field.name for field in schema if isinstance(field.dataType, StringType)]
    numbers = [f"record.{field.name}" for field in schema if isinstance(field.dataType, LongType)]
    required = [field.name for field in schema if not field.nullable]
    return {
        **reasons_of_form("record", strings),
        "bad_number": any_of(~F.col(name).between(0, MAX_NUMBER) for name in numbers),
        **{f"missing:{name}": F.col(f"record.{name}").isNull() for name in required},
        **checks,
    }
