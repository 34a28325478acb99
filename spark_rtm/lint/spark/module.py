"""Collect the Spark-related facts about a piece of code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from spark_rtm.lint.problem import Problem
from spark_rtm.lint.spark.intervals import MIN_BATCH_MS
from spark_rtm.lint.spark.streams import Deletion, Query, Setting, Trigger
from spark_rtm.lint.spark.values import as_text
from spark_rtm.text.finding import DATABRICKS, ENGINES, OSS

IN_DATABRICKS = re.compile(
    r"\bdbutils\b|(?:#|//|--) (?:Databricks notebook source|MAGIC)|spark\.databricks\.|/Volumes/|dbfs:/|"
    r"\bcloudFiles\b|\bDatabricks Runtime\b|application/vnd\.databricks|"
    r"^(?:import dlt|from pyspark import pipelines)\b|format\(\"(?:kinesis|postgresql|eventhubs)\"\)",
    re.MULTILINE,
)
IN_OSS = re.compile(r"local\[[\d*]+\]|local-cluster\[|spark-sql-kafka-0-10_")


@dataclass
class Module:
    """The Spark calls and imports found in a piece of code."""

    queries: list[Query] = field(default_factory=list)
    triggers: list[Trigger] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    imports: list[tuple[str, int]] = field(default_factory=list)
    deletions: list[Deletion] = field(default_factory=list)
    unchecked: list[Problem] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    is_spark: bool = True
    min_batch_ms: float = MIN_BATCH_MS
    flows: list[tuple[str, int]] = field(default_factory=list)
    """Places that set a pipeline's real-time trigger but are not update flows."""
    forms: list[tuple[str, int]] = field(default_factory=list)
    """Trigger expressions in Scala or Java that do not compile."""
    is_for_real_time: bool = False
    """Whether the code configures a session for real-time queries in other files."""
    is_job: bool = False
    """Whether the code is a complete program or notebook, not an excerpt or a library module."""
    builds_session: bool = False
    is_jvm: bool = False
    """Whether the code is Scala or Java."""
    is_notebook: bool = False
    is_databricks: bool = False
    """Whether the code is known to be for Databricks."""
    is_test: bool = False
    as_real_time: bool = False
    """Whether all queries are treated as real-time queries."""
    local_slots: int | None = None
    """N in the master URL `local[N]`."""

    @cached_property
    def real_time(self) -> list[Query]:
        """Return the module's real-time queries."""
        if self.as_real_time:
            return self.queries
        return [query for query in self.queries if query.writer.trigger and query.writer.trigger.is_real_time]

    def setting(self, key: str) -> list[tuple[str | None, int]]:
        """Return each value that the module assigns to a setting, with its line."""
        return [(as_text(setting.value), setting.line) for setting in self.settings if setting.key == key]


def target_engines(code: str) -> tuple[str, ...]:
    """Return the engine for which the code is written, or both engines if the code does not reveal it."""
    is_databricks, is_oss = bool(IN_DATABRICKS.search(code)), bool(IN_OSS.search(code))
    if is_databricks == is_oss:
        return ENGINES
    return (DATABRICKS,) if is_databricks else (OSS,)
