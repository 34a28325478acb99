"""
Evaluate PySpark attributes, functions, operators and columns.

A mark on a column records a property that rules check: the use of a Python function, a clock or a session window.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from spark_rtm.lint.spark.scope import FUNCTIONS
from spark_rtm.lint.spark.streams import Arguments, Frame, Reader, Source, Step, Writer
from spark_rtm.lint.spark.values import Column, Library, Mark, Session, Udf, Unknown, Value, marks_of, text_of, texts_of

UDF_MAKERS = {"udf", "pandas_udf", "arrow_udf", "udtf", "arrow_udtf"}
CLOCKS = {"current_timestamp", "now", "localtimestamp"}
CLOCK_DIFFERENCE = re.compile(
    r"(?:\b(?:current_timestamp|now)\s*\(\s*\)\s*\)*\s*-|-\s*(?:\w+\s*\(\s*)*(?:current_timestamp|now)\s*\()"
    r"|\b(?:timestampdiff|datediff)\s*\([^)]{0,200}(?:current_timestamp|now)\s*\(",
    re.IGNORECASE,
)
LATENCY_NAME = re.compile(r"(?:^|_)(?:latency|lag|delay|elapsed|e2e)(?:_|$)", re.IGNORECASE)
MAKES_SESSION = re.compile(
    r"(?:get|build|create|make|new|init)_?(?:or_create_)?(?:local_)?spark(?:_?session)?", re.IGNORECASE
)
GENERATORS = {"explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack",
              "json_tuple", "udtf"}  # fmt: skip
"""Functions that return several columns, or choose a name for their column."""
CAST_OF_COLUMN = re.compile(r"(?:try_)?cast\s*\(\s*(?P<name>[\w.`]+)\s+as\s+\w[\w<>, :]*\)", re.IGNORECASE)
ALIAS = re.compile(r"(?:\s+as\s+|\)\s*|^[\w.`]+\s+|\bend\s+)`?(?P<name>[A-Za-z_]\w*)`?$", re.IGNORECASE)
DIFFERENCES = {"timestamp_diff", "timestampdiff", "datediff", "date_diff"}

JOINS = {"join", "crossJoin"}
UNIONS = {"union", "unionAll", "unionByName"}
STATEFUL = {"aggregate", "dropDuplicates", "drop_duplicates", "dropDuplicatesWithinWatermark", "distinct",
            "transformWithState", "transformWithStateInPandas", "applyInPandasWithState",
            "flatMapGroupsWithState", "mapGroupsWithState"}  # fmt: skip

KAFKA_COLUMNS = {"key", "value", "topic", "partition", "offset", "timestamp", "timestamptype", "headers"}
KEEPING = {"where", "filter", "alias", "withWatermark", "groupBy", "groupby", "distinct", "dropDuplicates",
           "drop_duplicates", "dropDuplicatesWithinWatermark", "repartition", "repartitionByRange", "coalesce", "hint",
           "observe", "fillna", "dropna", "replace", "union", "unionAll", "unionByName"}  # fmt: skip
"""Operators that keep the columns."""
OPERATORS = KEEPING | JOINS | {
    "select", "selectExpr", "withColumn", "withColumns", "withColumnRenamed", "withColumnsRenamed", "drop", "agg",
    "orderBy", "sort", "sortWithinPartitions", "limit", "sample", "mapInPandas", "mapInArrow", "toDF", "cache",
    "persist", "transformWithState", "transformWithStateInPandas", "applyInPandasWithState", "applyInPandas",
    "mapGroupsWithState", "flatMapGroupsWithState", "cube", "rollup", "to", "unpivot",
}  # fmt: skip
AGGREGATES = {"count", "sum", "avg", "mean", "min", "max", "agg", "pivot"}


def makes_udf(value: Value) -> bool:
    """Return whether a decorator creates a Python UDF."""
    if isinstance(value, Library) and value.name.startswith(FUNCTIONS):
        return value.name.rpartition(".")[2] in UDF_MAKERS
    return isinstance(value, Udf)


def attribute(value: Value, name: str, line: int) -> Value:
    """Return the value of an object's attribute."""
    if isinstance(value, Library):
        value_name = f"{value.name}.{name}"
        return Session() if value_name.endswith("SparkSession.builder") else Library(value_name)
    if name == "readStream" or (name == "read" and isinstance(value, Session)):
        return Reader(is_streaming=name == "readStream")
    if name == "writeStream":
        return Writer(frame_of(value), lines=frozenset({line}), line=line)
    if isinstance(value, Session | Frame):
        return value if isinstance(value, Session) else Column(name=name)
    return Unknown(value.origin if isinstance(value, Unknown) else "")


def frame_of(value: Value) -> Frame:
    """Return `value` as a DataFrame. An unknown value becomes its source."""
    if isinstance(value, Frame):
        return value
    return Frame(frozenset({value if isinstance(value, Unknown) else Unknown()}))


def library_call(callee: Library, given: Arguments, line: int) -> Value:
    """Return the result of calling a library function."""
    name = callee.name.rpartition(".")[2]
    if not callee.name.startswith("pyspark."):
        return Session() if MAKES_SESSION.fullmatch(name) else Unknown(callee.name)
    if not callee.name.startswith(FUNCTIONS):
        return Unknown(callee.name if "rigger" in callee.name else "")
    if name in UDF_MAKERS:
        return Udf()
    if name == "broadcast" and given.positional:
        return _broadcast(given.positional[0])
    return Column(_function_marks(name, given, line), _function_name(name, given))


def _function_name(function: str, given: Arguments) -> str | None:
    """Return the name of the column that a function creates, or None if unknown."""
    if function in GENERATORS:
        return None
    texts = texts_of(given.get("col", 0))
    if function in {"col", "column", "lit", "expr"}:
        name = texts[0] if len(texts) == 1 else ""
        return (expression_name(name) if function == "expr" else last_part(name)) or None
    return "window" if function == "window" else f"{function}()"


def last_part(name: str) -> str:
    """Return a column name without its table or struct, or an empty string for several columns."""
    return "" if "*" in name else name.rpartition(".")[2].strip(" `")


def expression_name(text: str) -> str:
    """Return the column name of an SQL expression, or an empty string if unknown."""
    text = text.strip()
    if match := CAST_OF_COLUMN.fullmatch(text) or ALIAS.search(text):
        return last_part(match["name"])
    if re.fullmatch(r"[\w.`]+", text):
        return last_part(text)
    called = re.match(r"\w+", text)
    return "" if not text.endswith(")") or not called or called[0].lower() in GENERATORS else "()"


def _broadcast(value: Value) -> Value:
    return replace(frame_of(value), is_broadcast=True) if isinstance(value, Frame | Unknown) else value


def _function_marks(name: str, given: Arguments, line: int) -> frozenset[Mark]:
    marks = marks_of(*given.values())
    if name in CLOCKS:
        marks |= {Mark("clock", line)}
    if name in DIFFERENCES and any(mark.kind == "clock" for mark in marks):
        marks |= {Mark("clock-difference", line)}
    if name == "session_window":
        marks |= {Mark("session_window", line)}
    if name in {"expr", "call_function", "call_udf"}:
        marks |= text_marks(given.positional[:1], line)
    return marks


def text_marks(values: Iterable[Value], line: int) -> frozenset[Mark]:
    """Return the marks of the SQL expressions among `values`."""
    marks: set[Mark] = set()
    for text in [text for value in values for text in texts_of(value)]:
        if CLOCK_DIFFERENCE.search(text):
            marks.add(Mark("clock-difference", line))
        if re.search(r"\bsession_window\s*\(", text, re.IGNORECASE):
            marks.add(Mark("session_window", line))
    return frozenset(marks)


def is_stateful(frame: Frame) -> bool:
    """Return whether any operator of the stream keeps state."""
    return bool(stateful_steps(frame))


def stateful_steps(frame: Frame) -> list[Step]:
    """Return the stateful operators of the stream."""
    return [step for step in frame.steps if step.name in STATEFUL or (step.name == "join" and joins_streams(step))]


def joins_streams(step: Step) -> bool:
    """Return whether both sides of a join are certainly streams."""
    return bool(step.left.is_streaming and step.other and step.other.is_streaming)


def output_columns(frame: Frame) -> set[str] | None:
    """Return a stream's column names in lower case, or None if one is unknown."""
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
    """Return the names of selected columns, or None if one is unknown."""
    names: set[str] = set()
    for value in values:
        if text_of(value) == "*":
            inner = columns
        else:
            text = text_of(value)
            name = value.name if isinstance(value, Column) else (expression_name if is_sql else last_part)(text or "")
            inner = {name.lower()} if name else None
        if inner is None:
            return None
        names |= inner
    return names
