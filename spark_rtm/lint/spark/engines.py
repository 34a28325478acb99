"""Find signs of an engine in code."""

import re

from spark_rtm.text.finding import DATABRICKS, ENGINES, OSS

IN_DATABRICKS = re.compile(
    r"\bdbutils\b|(?:#|//|--) (?:Databricks notebook source|MAGIC)|spark\.databricks\.|/Volumes/|dbfs:/|"
    r"\bcloudFiles\b|\bDatabricks Runtime\b|"
    r"^(?:import dlt|from pyspark import pipelines)\b|format\(\"(?:kinesis|postgresql|eventhubs)\"\)",
    re.MULTILINE,
)
IN_OSS = re.compile(r"local\[[\d*]+\]|local-cluster\[|spark-sql-kafka-0-10_")


def target_engines(code: str) -> tuple[str, ...]:
    """Return the engine of the code, or both engines if the code does not show it."""
    is_databricks, is_oss = bool(IN_DATABRICKS.search(code)), bool(IN_OSS.search(code))
    if is_databricks == is_oss:
        return ENGINES
    return (DATABRICKS,) if is_databricks else (OSS,)
