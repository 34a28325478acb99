"""
Define the table of results in PostgreSQL, on Databricks Lakebase, and the ways into it and out of it.

What arrives are rows of `ad-attributed`; what leaves are a table with one row per result, and a sink that keeps it new.
Real-time mode updates the same rows again and again, so nothing here may stand in the way of cheap updates.
"""

import re
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.rows import dict_row
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, LongType, StringType

from examples.attribution.results import ATTRIBUTED
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC
from examples.sinks import PostgresUpsertSink

SCHEMA = "public"
TYPES: dict[DataType, str] = {StringType(): "text", LongType(): "bigint", BooleanType(): "boolean"}
COLUMNS = {field.name: TYPES[field.dataType] for field in ATTRIBUTED}
# The primary key is the sink's key, and there is no other index: one on a column that updates change would turn HOT
# updates off. Pages keep room for the next versions of their rows, and vacuum counts rows, not shares of the table.
TABLES = """
create table if not exists {schema}.{table} ({columns}, primary key (result_id))
    with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
alter table {schema}.{table} alter version set not null;
create table if not exists {schema}.{table}_offsets
    (topic text, partition int, next_offset bigint not null, primary key (topic, partition));
"""


def results_table(settings: Settings) -> str:
    """Return the name of the table: the topic's, made of letters that need no quotes."""
    return re.sub(r"\W", "_", settings.topic(ATTRIBUTED_TOPIC)).lower()


def create_tables(dsn: str, settings: Settings) -> None:
    """Create the table of results and that of offsets, if they are missing."""
    columns = ", ".join(f"{name} {type_name}" for name, type_name in COLUMNS.items())
    with psycopg.connect(dsn) as connection:
        connection.execute(TABLES.format(schema=SCHEMA, table=results_table(settings), columns=columns).encode())


def results_sink(connect: dict[str, Any] | Callable[[], dict[str, Any]], settings: Settings) -> PostgresUpsertSink:
    """Return the sink of the results, for `foreach` and for loops of your own."""
    return PostgresUpsertSink(connect, (SCHEMA, results_table(settings)), ("result_id",), COLUMNS, "version")


def results_of(records: DataFrame) -> DataFrame:
    """Turn rows of `ad-attributed`, or of `events_to_attributed`, into the columns of the table."""
    result = F.from_json(F.col("value").cast("string"), ATTRIBUTED)
    return records.select(result.alias("result")).select("result.*")


def stored_results(dsn: str, settings: Settings) -> dict[str, dict[str, Any]]:
    """Return the rows of the table by result id, in the form of the topic: without nulls."""
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        rows = connection.execute(f"select * from {SCHEMA}.{results_table(settings)}".encode())
        return {row["result_id"]: {name: v for name, v in row.items() if v is not None} for row in rows}
