"""Sinks that Spark lacks: upsert a streaming query's rows into PostgreSQL (on Databricks: Lakebase)."""

from spark_rtm import require

require("sinks", "postgres", "psycopg", "pyspark")

from spark_rtm.sinks.postgres import PostgresUpsertSink

__all__ = ["PostgresUpsertSink"]
