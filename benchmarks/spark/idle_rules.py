"""
Exclude rules of Spark's optimizer that never change a query.

Real-time mode optimizes the same query at each batch boundary, so a rule without effect during the warm-up only takes
time.
"""

import re
from typing import Any

from pyspark.sql import SparkSession

EXCLUDED_CONF = "spark.sql.optimizer.excludedRules"
OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer."
LINE = re.compile(r"\s*(?P<rule>org\.apache\.\S+) +\d+ / \d+ +(?P<effective>\d+) / (?P<runs>\d+)\s*")
"""A line of Spark's report: the rule, its effective and total time, and its effective and total runs."""


def exclude_idle_rules(spark: SparkSession) -> None:
    """Exclude the rules without effect on this session's queries so far. Later queries must be the same."""
    jvm: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for the report
    report = jvm.org.apache.spark.sql.catalyst.rules.RuleExecutor.dumpTimeSpent()
    spark.conf.set(EXCLUDED_CONF, ",".join(idle_rules(report)))


def idle_rules(report: str) -> list[str]:
    """Return the rules in a report that never had an effect."""
    found = filter(None, map(LINE.fullmatch, report.splitlines()))
    return [line["rule"] for line in found if line["rule"].startswith(OPTIMIZER) and line["effective"] == "0"]
