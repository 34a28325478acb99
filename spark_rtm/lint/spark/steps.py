"""Find a query's operators, and determine which operators keep state or join streams."""

from collections.abc import Iterable

from spark_rtm.lint.spark.columns import expression_name, last_part
from spark_rtm.lint.spark.streams import Frame, Source, Step
from spark_rtm.lint.spark.values import Column, Items, Value, text_of, texts_of

JOINS = {"join", "crossJoin"}
UNIONS = {"union", "unionAll", "unionByName"}
STATEFUL = {"aggregate", "dropDuplicates", "drop_duplicates", "dropDuplicatesWithinWatermark", "distinct",
            "transformWithState", "transformWithStateInPandas", "applyInPandasWithState",
            "flatMapGroupsWithState", "mapGroupsWithState"}  # fmt: skip

KAFKA_COLUMNS = {"key", "value", "topic", "partition", "offset", "timestamp", "timestamptype", "headers"}
KEEPING = {"where", "filter", "alias", "withWatermark", "groupBy", "groupby", "distinct", "dropDuplicates",
           "drop_duplicates", "dropDuplicatesWithinWatermark", "repartition", "repartitionByRange", "coalesce", "hint",
           "observe", "fillna", "dropna", "replace", "union", "unionAll", "unionByName"}  # fmt: skip
"""Operators that do not change the columns."""
OPERATORS = KEEPING | JOINS | {
    "select", "selectExpr", "withColumn", "withColumns", "withColumnRenamed", "withColumnsRenamed", "drop", "agg",
    "orderBy", "sort", "sortWithinPartitions", "limit", "sample", "mapInPandas", "mapInArrow", "toDF", "cache",
    "persist", "transformWithState", "transformWithStateInPandas", "applyInPandasWithState", "applyInPandas",
    "mapGroupsWithState", "flatMapGroupsWithState", "cube", "rollup", "to", "unpivot",
}  # fmt: skip
AGGREGATES = {"count", "sum", "avg", "mean", "min", "max", "agg", "pivot"}


def stateful_steps(frame: Frame) -> list[Step]:
    """Return a stream's stateful operators."""
    return [step for step in frame.steps if step.name in STATEFUL or (step.name == "join" and joins_streams(step))]


def joins_streams(step: Step) -> bool:
    """Return whether both sides of a join are known to be streams."""
    return bool(step.left.is_streaming and step.other and step.other.is_streaming)


def output_columns(frame: Frame) -> set[str] | None:
    """Return a stream's column names in lower case, or None if any name is unknown."""
    is_kafka = frame.sources and all(isinstance(s, Source) and s.is_kafka for s in frame.sources)
    columns: set[str] | None = set(KAFKA_COLUMNS) if is_kafka else None
    groups: set[str] | None = None
    for step in frame.steps:
        if step.name in {"groupBy", "groupby"}:
            groups = _named(step.arguments.positional, set())
        columns = _after(step, columns, groups)
    return columns


def _after(step: Step, columns: set[str] | None, groups: set[str] | None) -> set[str] | None:
    given = step.arguments
    if step.name in KEEPING or given.is_open:
        return None if given.is_open else columns
    if step.name in {"select", "selectExpr"}:
        return _named(given.positional, columns, is_sql=step.name == "selectExpr") if given.positional else None
    if step.name == "toDF":
        return _named(given.positional, set())
    if step.name == "aggregate":
        named = _named([each for each in given.positional if isinstance(each, Column)], set())
        return None if groups is None or named is None else groups | named | (set() if named else {"count"})
    return _changed(step, columns)


def _changed(step: Step, columns: set[str] | None) -> set[str] | None:
    texts = [[text.lower() for text in texts_of(value)] for value in step.arguments.positional]
    if columns is None or not all(len(each) == 1 for each in texts[: 1 if step.name == "withColumn" else None]):
        return None
    if step.name == "withColumn":
        return columns | set(texts[0]) if texts else None
    if step.name == "withColumnRenamed" and len(texts) == 2:
        return columns - set(texts[0]) | set(texts[1])
    return columns - {each[0] for each in texts} if step.name == "drop" else None


def _named(values: Iterable[Value], columns: set[str] | None, *, is_sql: bool = False) -> set[str] | None:
    """Return the names of selected columns, or None if any name is unknown."""
    names: set[str] = set()
    for value in values:
        if isinstance(value, Items) and not value.is_open:
            inner = _named(value.values, columns, is_sql=is_sql)
        elif text_of(value) == "*":
            inner = columns
        else:
            text = text_of(value)
            name = value.name if isinstance(value, Column) else (expression_name if is_sql else last_part)(text or "")
            inner = {name.lower()} if name else None
        if inner is None:
            return None
        names |= inner
    return names
