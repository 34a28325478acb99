"""
Return physical plans as text.

PySpark's public `explain()` only prints a plan, and redirecting stdout would capture the output of all threads. The
functions below call the same JVM methods as `explain()` in PySpark 4.3.0. Spark Connect does not have these methods.
"""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery


def plan_of_frame(frame: DataFrame) -> str:
    """Return the physical plan of a batch or streaming DataFrame."""
    jvm: Any = frame.sparkSession._jvm  # noqa: SLF001
    return str(jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "simple"))  # noqa: SLF001


def plan_of_query(query: StreamingQuery) -> str:
    """Return the physical plan of the query's current or last batch."""
    return str(query._jsq.explainInternal(False))  # noqa: SLF001
