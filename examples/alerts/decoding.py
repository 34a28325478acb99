"""
Decode JSON records with a schema, and route each row to an output topic or to the reject topic.

Every row needs a topic, and no expression may raise an error. Otherwise, the query fails, and each restart fails on the
same row.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructType

from spark_rtm.realtime import decoding
from spark_rtm.realtime.decoding import any_of, first_reason, parse, reasons_of_form
from spark_rtm.realtime.limits import ID_PATTERN, MAX_NUMBER


def decode(
    records: DataFrame, schema: StructType, checks: Mapping[str, Column] = MappingProxyType({}), ids: Iterable[str] = ()
) -> DataFrame:
    """
    Add the columns `record`, `src` and `reason` to Kafka source rows.

    `record` contains the fields of `schema`, and `src` contains the source position. `reason` is null if the row is
    valid. The value of a valid row is a JSON object whose strings and numbers match `schema`. The object has all
    required fields, its numbers are from 0 to `MAX_NUMBER`, and the fields in `ids` match `ID_PATTERN`. `checks` maps
    further reasons to conditions, all of which are false for a valid row.
    """
    strings = [field.name for field in schema if isinstance(field.dataType, StringType)]
    numbers = [f"record.{field.name}" for field in schema if isinstance(field.dataType, LongType)]
    required = [field.name for field in schema if not field.nullable]
    reasons = {
        **reasons_of_form("record", strings),
        "bad_number": any_of(~F.col(name).between(0, MAX_NUMBER) for name in numbers),
        **{f"missing:{name}": F.col(f"record.{name}").isNull() for name in required},
        **{f"bad_id:{name}": ~F.col(f"record.{name}").rlike(ID_PATTERN) for name in ids},
        **checks,
    }
    return parse(records, schema, "record").withColumn("reason", first_reason(reasons))


def route(decoded: DataFrame, rejects: str, *, key: Column, value: Column, topic: Column) -> DataFrame:
    """
    Convert decoded rows to Kafka sink rows.

    Valid rows get `key`, `value` and `topic`. All other rows go to the topic `rejects`. A valid row has its source
    position in the `src` header, so that a consumer can drop duplicates.
    """
    return decoding.route(
        decoded, rejects, key=key, value=value, kept_headers=decoding.headers(src=F.col("src")), topic=topic
    )


def group_of(identity: Column) -> Column:
    """Return `identity` for a valid row, and the source position for any other row, so that it forms its own group."""
    return F.when(F.col("reason").isNotNull(), F.col("src")).otherwise(identity)


def newest(records: DataFrame, schema: StructType, name: str) -> DataFrame:
    """Return the newest record of each key as columns `{name}_key` and `{name}`. A tombstone removes its key."""
    latest = records.groupBy("key").agg(F.max_by("value", "offset").alias("value")).where("value is not null")
    row = F.from_json(F.col("value").cast("string"), schema)
    return latest.select(F.col("key").cast("string").alias(f"{name}_key"), row.alias(name))
