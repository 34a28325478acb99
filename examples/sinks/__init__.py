"""Sinks that Spark lacks: upsert the rows of a streaming query into PostgreSQL (on Databricks: Lakebase)."""

from examples.sinks.postgres import PostgresUpsertSink

__all__ = ["PostgresUpsertSink"]
