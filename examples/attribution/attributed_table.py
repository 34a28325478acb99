"""
Define the results table in PostgreSQL or Databricks Lakebase, and the sink that writes to this table.

The table has one row per result. Each row is updated many times, so the table has storage
settings that keep updates cheap.
"""

import re
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.rows import dict_row
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, LongType, StringType

from examples.attribution.correlation.sql import ATTRIBUTED
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC
from spark_rtm.sinks import PostgresUpsertSink

SCHEMA = "public"
TYPE_NAMES: dict[DataType, str] = {StringType(): "text", LongType(): "bigint", BooleanType(): "boolean"}
COLUMNS = {field.name: TYPE_NAMES[field.dataType] for field in ATTRIBUTED}
TOPIC_PREFIX = re.compile(r"([a-z][a-z0-9]*([.-][a-z0-9]+)*\.)?")
MAX_NAME_BYTES = 63
OFFSETS_SUFFIX = "_offsets"
# The sink upserts rows by the primary key. The table has no other index, because an index on an updated column would
# disable HOT updates. Each table page keeps 10% of its space free for new row versions. Autovacuum starts at a fixed
# number of dead rows instead of a percentage of all rows.
CREATE_TABLES = """
create table if not exists {schema}.{table} ({columns}, primary key (result_id))
    with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
alter table {schema}.{table} alter version set not null;
create table if not exists {schema}.{table}_offsets
    (topic text, topic_id text, partition int, next_offset bigint not null, primary key (topic, partition));
"""


def results_table(settings: Settings) -> str:
    """
    Return the name of the results table for the topic prefix in `settings`. The name needs no quotes in SQL.

    The prefix `team-a.run1.` results in the table `team_a__run1_ad_attributed`. Raise ValueError for a prefix that
    could result in the same table as another prefix.
    """
    prefix = settings.topic_prefix
    if not TOPIC_PREFIX.fullmatch(prefix):
        raise ValueError(
            f"topic prefix {prefix!r} could share its table with another prefix; use a form such as 'team-a.run1.' "
            "(lower-case letters and digits, single '-' or '.' between them, a letter first, '.' last)"
        )
    # Words are never empty, so a single underscore, a double underscore and the last underscore stay distinguishable.
    parts = prefix.removesuffix(".").replace(".", "__"), ATTRIBUTED_TOPIC
    table = "_".join(filter(None, parts)).replace("-", "_")
    surplus = len(table + OFFSETS_SUFFIX) - MAX_NAME_BYTES
    if surplus > 0:
        raise ValueError(
            f"topic prefix {prefix!r} yields a table name that PostgreSQL would truncate by {surplus} bytes, so two "
            f"tables could share a name; shorten the prefix by {surplus} bytes"
        )
    return table


def create_tables(dsn: str, settings: Settings) -> None:
    """Create the results table and the offsets table if they do not exist."""
    columns = ", ".join(f"{name} {type_name}" for name, type_name in COLUMNS.items())
    with psycopg.connect(dsn) as connection:
        connection.execute(CREATE_TABLES.format(schema=SCHEMA, table=results_table(settings), columns=columns).encode())


def results_sink(connect: dict[str, Any] | Callable[[], dict[str, Any]], settings: Settings) -> PostgresUpsertSink:
    """Return the sink for the results table. Pass it to Spark's `foreach`, or call its methods in your own loop."""
    return PostgresUpsertSink(connect, (SCHEMA, results_table(settings)), ("result_id",), COLUMNS, "version")


def results_of(records: DataFrame) -> DataFrame:
    """Convert records of `ad-attributed`, or output rows of `events_to_attributed`, into rows of the results table."""
    result = F.from_json(F.col("value").cast("string"), ATTRIBUTED)
    return records.select(result.alias("result")).select("result.*")


def stored_results(dsn: str, settings: Settings) -> dict[str, dict[str, Any]]:
    """Return the rows of the results table, keyed by result id. Null columns are omitted, as in the topic's records."""
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        rows = connection.execute(f"select * from {SCHEMA}.{results_table(settings)}".encode())
        return {row["result_id"]: {name: v for name, v in row.items() if v is not None} for row in rows}
