"""Only rules of the optimizer that never changed a query are excluded."""

from pyspark.sql import SparkSession

from benchmarks.spark.idle_rules import EXCLUDED_CONF, OPTIMIZER, exclude_idle_rules, idle_rules

REPORT = f"""
=== Metrics of Analyzer/Optimizer Rules ===
Total number of runs: 1810
Total time: 0.4 seconds

Rule                                               Effective Time / Total Time   Effective Runs / Total Runs

{OPTIMIZER}ColumnPruning     4163 / 8571                   2 / 10
{OPTIMIZER}LikeSimplification            0 / 211                       0 / 10
org.apache.spark.sql.catalyst.analysis.Analyzer$ResolveGroupingAnalytics    0 / 11                        0 / 10
"""


def test_rule_without_an_effect_is_idle() -> None:
    """Rules that changed a query stay, and all rules of the analyzer."""
    assert [f"{OPTIMIZER}LikeSimplification"] == idle_rules(REPORT)


def test_idle_rules_come_from_the_report_of_spark(spark: SparkSession) -> None:
    """The report of Spark has the expected form, and a query has the same result without the rules."""
    query = "select id, count(*) as n from range(9) where id % 2 = 1 and 1 = 1 group by id order by id"
    rows = spark.sql(query).collect()
    try:
        exclude_idle_rules(spark)
        excluded = spark.conf.get(EXCLUDED_CONF) or ""

        assert len(excluded.split(",")) > 20
        assert rows == spark.sql(query).collect()
    finally:
        spark.conf.unset(EXCLUDED_CONF)
