"""
Add latency percentiles to a real-time query's progress events, because open-source Spark reports none.

The progress event of a batch then has the metric `sourceQueuingLatencyMs` under `observedMetrics`: the number of rows,
and p50, p99 and maximum of the time from a record's append to its processing. Databricks uses the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

METRIC = "sourceQueuingLatencyMs"
"""Name of the observation, whose fields are `count`, and `P50`, `P99` and `max` in milliseconds."""
SKETCH_VALUES = 4_000
"""Size of a sketch (Spark's `k`). With the default of 200, the sketch's P99 can be as low as the exact P97.7."""
COLUMN = "_rtm_latency_ms"
# `current_timestamp()` is constant for a whole batch.
CLOCK_MS = "reflect('java.lang.System', 'currentTimeMillis')"


def with_latency(rows: DataFrame, name: str = METRIC) -> DataFrame:
    """
    Return Kafka source rows whose latency appears in progress events under `name`.

    Call this function directly after the source, because `rows` needs the `timestamp` column, which is the append time
    if the topic uses `LogAppendTime`. The rows do not change. Each task keeps one sketch of about 100 KB, whose P99 is
    between the exact P98.9 and P99.1.
    """
    # Spark allows no nondeterministic expression, such as the clock, inside the metric.
    timed = rows.withColumn(COLUMN, F.expr(f"cast({CLOCK_MS} as bigint) - unix_millis(timestamp)"))
    sketch = F.kll_sketch_agg_bigint(COLUMN, SKETCH_VALUES)

    def quantile(share: float) -> Column:
        # The sketch of a batch without rows is empty, and reading it would make the query fail.
        return F.when(F.count("*") > 0, F.kll_sketch_get_quantile_bigint(sketch, F.lit(share)))

    observed = timed.observe(
        name,
        F.count("*").alias("count"),
        quantile(0.5).alias("P50"),
        quantile(0.99).alias("P99"),
        F.max(COLUMN).alias("max"),
    )
    return observed.drop(COLUMN)
