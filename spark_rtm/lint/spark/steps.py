"""Find a query's operators, and determine which operators keep state or join streams."""

from collections.abc import Iterator

from spark_rtm.lint.spark.streams import Frame, Query, Step

JOINS = {"join", "crossJoin"}
UNIONS = {"union", "unionAll", "unionByName"}
STATEFUL = {"aggregate", "dropDuplicates", "drop_duplicates", "dropDuplicatesWithinWatermark", "distinct",
            "transformWithState", "transformWithStateInPandas", "applyInPandasWithState",
            "flatMapGroupsWithState", "mapGroupsWithState"}  # fmt: skip

OPERATORS = {
    "select",
    "selectExpr",
    "where",
    "filter",
    "withColumn",
    "withColumns",
    "withColumnRenamed",
    "withColumnsRenamed",
    "drop",
    "alias",
    "withWatermark",
    "groupBy",
    "groupby",
    "agg",
    "join",
    "crossJoin",
    "union",
    "unionAll",
    "unionByName",
    "distinct",
    "dropDuplicates",
    "drop_duplicates",
    "dropDuplicatesWithinWatermark",
    "repartition",
    "repartitionByRange",
    "coalesce",
    "orderBy",
    "sort",
    "sortWithinPartitions",
    "limit",
    "sample",
    "mapInPandas",
    "mapInArrow",
    "observe",
    "hint",
    "toDF",
    "cache",
    "persist",
    "fillna",
    "dropna",
    "transformWithState",
    "transformWithStateInPandas",
    "applyInPandasWithState",
    "applyInPandas",
    "mapGroupsWithState",
    "flatMapGroupsWithState",
    "cube",
    "rollup",
    "to",
    "replace",
    "unpivot",
}
AGGREGATES = {"count", "sum", "avg", "mean", "min", "max", "agg", "pivot"}


def steps(query: Query, *names: str) -> Iterator[Step]:
    """Yield the query's operators whose name is one of `names`."""
    for step in query.writer.frame.steps:
        if step.name in names:
            yield step


def is_stateful(frame: Frame) -> bool:
    """Return whether any operator of the stream keeps state."""
    return bool(stateful_steps(frame))


def stateful_steps(frame: Frame) -> list[Step]:
    """Return the operators of the stream that keep state."""
    return [step for step in frame.steps if step.name in STATEFUL or (step.name == "join" and joins_streams(step))]


def joins_streams(step: Step) -> bool:
    """Return whether both sides of a join are known to be streams."""
    return bool(step.left.is_streaming and step.other and step.other.is_streaming)
