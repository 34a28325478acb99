"""
Decode JSON records by a schema, and route every row to the topic that the job chooses or to the reject topic.

No expression may raise and no row may lack a topic: a single such row ends the query, and every restart reads it again.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructType

from examples.realtime import decoding
from examples.realtime.decoding import any_of, first_reason, parse, reasons_of_form
from examples.realtime.limits import MAX_NUMBER


def decode(records: DataFrame, schema: StructType, checks: Mapping[str, Column]) -> DataFrame:
    """
    Add `record` (the fields of `schema`), `src` (its position) and `reason` to Kafka source rows.

    `reason` is null for a valid row: a JSON object whose strings and numbers match `schema`, with numbers from 0 to
    `MAX_NUMBER`, all fields that are not nullable, and no true condition in `checks`, which map reasons to conditions.
    """
    return parse(records, schema, "record").withColumn("reason", first_reason(_reasons(schema, checks)))


def route(decoded: DataFrame, rejects: str, *, key: Column, value: Column, topic: Column) -> DataFrame:
    """
    Turn decoded rows into Kafka sink rows: valid ones with `key`, `value` and `topic`, the others for topic `rejects`.

    The header `src` of a valid row holds its source position, so a consumer can drop duplicates.
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
