"""
Define the table of results in PostgreSQL or Databricks Lakebase, with one row per result, and its sink.

The same rows are updated again and again, so the table is laid out for cheap updates.
"""

import re
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.rows import dict_row
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, LongType, StringType

from examples.attribution.schemas import ATTRIBUTED
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC
from examples.sinks import PostgresUpsertSink

SCHEMA = "public"
TYPE_NAMES: dict[DataType, str] = {StringType(): "text", LongType(): "bigint", BooleanType(): "boolean"}
COLUMNS = {field.name: TYPE_NAMES[field.dataType] for field in ATTRIBUTED}
# The primary key is the sink's key. There is no other index: an index on a column that updates change would disable HOT
# updates. Pages keep 10 % free for new versions of their rows. Autovacuum starts after a fixed number of dead rows, not
# after a share of the table.
CREATE_TABLES = """
create table if not exists {schema}.{table} ({columns}, primary key (result_id))
    with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
alter table {schema}.{table} alter version set not null;
create table if not exists {schema}.{table}_offsets
    (topic text, partition int, next_offset bigint not null, primary key (topic, partition));
"""


def results_table(settings: Settings) -> str:
    """Return the name of the table: the topic's name in characters that need no quotes in SQL."""
    return re.sub(r"\W", "_", settings.topic(ATTRIBUTED_TOPIC)).lower()


def create_tables(dsn: str, settings: Settings) -> None:
    """Create the tables of results and offsets if they do not exist."""
    columns = ", ".join(f"{name} {type_name}" for name, type_name in COLUMNS.items())
    with psycopg.connect(dsn) as connection:
        connection.execute(CREATE_TABLES.format(schema=SCHEMA, table=results_table(settings), columns=columns).encode())


def results_sink(connect: dict[str, Any] | Callable[[], dict[str, Any]], settings: Settings) -> PostgresUpsertSink:
    """Return the sink of the results, for `foreach` or for a loop that calls it directly."""
    return PostgresUpsertSink(connect, (SCHEMA, results_table(settings)), ("result_id",), COLUMNS, "version")


def results_of(records: DataFrame) -> DataFrame:
    """Turn rows of `ad-attributed` or of `events_to_attributed` into the columns of the table."""
    result = F.from_json(F.col("value").cast("string"), ATTRIBUTED)
    return records.select(result.alias("result")).select("result.*")


def stored_results(dsn: str, settings: Settings) -> dict[str, dict[str, Any]]:
    """Return the rows of the table by result id, without nulls, as in the topic."""
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        rows = connection.execute(f"select * from {SCHEMA}.{results_table(settings)}".encode())
        return {row["result_id"]: {name: v for name, v in row.items() if v is not None} for row in rows}
