"""Evaluate PySpark attributes, functions and columns. A mark is a column property that rules check."""

import re
from collections.abc import Iterable
from dataclasses import replace

from spark_rtm.lint.spark.scope import FUNCTIONS, SESSION_NAMES
from spark_rtm.lint.spark.streams import Arguments, Frame, Partial, Source, Writer, exactly_once
from spark_rtm.lint.spark.values import Column, Library, Mark, Session, Udf, Unknown, Value, marks_of, texts_of

UDF_MAKERS = {"udf", "pandas_udf", "arrow_udf", "udtf", "arrow_udtf"}
CLOCKS = {"current_timestamp", "now", "localtimestamp"}
CLOCK_TEXT = re.compile(r"\b(?:current_timestamp|now|localtimestamp)\s*\(", re.IGNORECASE)
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
"""Functions that return several columns, or choose their column's name."""
CAST_OF_COLUMN = re.compile(r"(?:try_)?cast\s*\(\s*(?P<name>[\w.`]+)\s+as\s+\w[\w<>, :]*\)", re.IGNORECASE)
ALIAS = re.compile(r"(?:\s+as\s+|\)\s*|^[\w.`]+\s+|\bend\s+)`?(?P<name>[A-Za-z_]\w*)`?$", re.IGNORECASE)
DIFFERENCES = {"timestamp_diff", "timestampdiff", "datediff", "date_diff"}


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
        return Source(is_streaming=name == "readStream")
    if name == "writeStream":
        return Writer(frame_of(value), lines=frozenset({line}), line=line)
    if isinstance(value, Writer) or (isinstance(value, Unknown) and name == "trigger"):
        return value if name == "_jwrite" else Partial(value, name, Arguments())
    if isinstance(value, Session) or (name in SESSION_NAMES and isinstance(value, Unknown)):
        return Session()
    return Column(name=name) if isinstance(value, Frame) else Unknown(getattr(value, "origin", ""))


def frame_of(value: Value) -> Frame:
    """Return `value` as a DataFrame. An unknown value becomes the DataFrame's source."""
    if isinstance(value, Frame):
        return value
    return Frame(frozenset({value if isinstance(value, Unknown) else Unknown()}))


def library_call(callee: Library, given: Arguments, line: int) -> Value:
    """Return the result of calling a library function."""
    name = callee.name.rpartition(".")[2]
    if callee.name.endswith("exactly_once.to_kafka"):
        return exactly_once(frame_of(given.get("rows", 0) or Unknown()), given, line)
    is_spark = callee.name.startswith("pyspark.")
    if ("SparkSession" in callee.name.split(".")) if is_spark else MAKES_SESSION.fullmatch(name):
        return Session()
    if not callee.name.startswith(FUNCTIONS):
        return Unknown(callee.name if not is_spark or "rigger" in callee.name else "")
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
    """Return a column name without its table or struct prefix, or an empty string for several columns."""
    return "" if "*" in name else name.rpartition(".")[2].strip(" `")


def expression_name(text: str) -> str:
    """Return an SQL expression's column name, or an empty string if unknown."""
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
    """Return a `Mark` for each clock or `session_window` in the SQL texts among `values`."""
    marks: set[Mark] = set()
    for text in [text for value in values for text in texts_of(value)]:
        if CLOCK_TEXT.search(text):
            marks.add(Mark("clock", line))
        if CLOCK_DIFFERENCE.search(text):
            marks.add(Mark("clock-difference", line))
        if re.search(r"\bsession_window\s*\(", text, re.IGNORECASE):
            marks.add(Mark("session_window", line))
    return frozenset(marks)
