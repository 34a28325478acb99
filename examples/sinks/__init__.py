"""Sinks that Spark does not have: rows of a streaming query, upserted into Postgres (on Databricks: Lakebase)."""

from examples.sinks.postgres import PostgresUpsertSink

__all__ = ["PostgresUpsertSink"]
