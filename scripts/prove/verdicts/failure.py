"""Find the condition, the line of the user's code, the fix and the page of a failure."""

import re
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pyspark.errors import PySparkException

from examples.realtime.queries import CONDITION
from scripts.pack import files
from scripts.prove.verdicts.place import PYTHON_FUNCTIONS, line_of_call
from scripts.text import markdown

CALLED_FROM = re.compile(r"was called from\s+(?P<path>\S[^\n]*?):(?P<line>\d+)")
JAVA_ERROR = re.compile(r"\b(?:[a-z]\w*\.)+([A-Z]\w*(?:Exception|Error))\b")
# Exceptions that wrap the actual cause.
WRAPPERS = {"SparkException", "StreamingQueryException", "ExecutionException", "TaskCompletionListenerException"}
PYTHON_NODES = ("BatchEvalPython", "ArrowEvalPython", "MapInPandas", "MapInArrow", "FlatMapGroups", "PythonUDF")
DEFAULT_PAGE = "references/errors.md"

# The fix of a condition, by a part of its name or of the message; the first match applies.
FIXES = {
    "CAST_INVALID_INPUT": "use try_cast, and send rows in which the result is null to a reject topic",
    "CAST_OVERFLOW": "use try_cast, and send rows in which the result is null to a reject topic",
    "MALFORMED_RECORD_IN_PARSING": "use the mode PERMISSIVE of from_json, and send malformed rows to a reject topic",
    "INVALID_UTF8_STRING": "use try_validate_utf8 or is_valid_utf8, and send bad rows to a reject topic",
    "ARITHMETIC_OVERFLOW": "use try_add, try_multiply or a range check before the arithmetic",
    "DATETIME_OVERFLOW": "check the range of a number before you make a time of it",
    "DIVIDE_BY_ZERO": "use try_divide",
    "INVALID_ARRAY_INDEX": "use get() in place of an index",
    "null topic": "give every row a topic, for example with coalesce and a reject topic",
    "Python": "replace the Python function by SQL functions; OSS allows no Python on the data path in real-time mode",
    "ForeachBatch": "write to Kafka in place of foreachBatch, and copy the records to other stores in a second query",
    "OUTPUT_MODE": 'write .outputMode("update")',
    "SINK_NOT_SUPPORTED": "write to Kafka, and copy the records to other stores in a second, micro-batch query",
    "INPUT_STREAM_NOT_SUPPORTED": "read the stream from Kafka",
    "STATEFUL_OPERATORS_BEFORE_UNION": "union the streams before the aggregation",
    "STDS_FAILED_TO_READ_OPERATOR_METADATA": "write the processor in Scala, or run it in micro-batch mode",
    "INSUFFICIENT_SLOT": "use more task slots, fewer source partitions or a smaller spark.sql.shuffle.partitions",
    "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST": "remove this operation, or run the query in micro-batch mode",
}


@dataclass(frozen=True)
class Failure:
    """What is known about an exception of a query."""

    condition: str
    message: str
    """The first line of the message."""
    path: str
    line: int
    fix: str
    page: str


def failure_of(error: BaseException, path: Path, line: int = 0) -> Failure:
    """Return what is known about an error; `path` is the user's file and `line` its most probable line."""
    cause = error.__cause__ if error.__cause__ is not None else error
    text = str(cause)
    condition = name_of(cause)
    called = CALLED_FROM.search(text)
    if called:
        place, number = called["path"], int(called["line"])
    else:
        frames = [f.lineno or 0 for f in traceback.extract_tb(cause.__traceback__) if Path(f.filename) == path]
        place, number = str(path), frames[-1] if frames else line
    is_python = "NOT_IN_ALLOWLIST" in condition and any(node in text for node in PYTHON_NODES)
    if is_python and not called:
        number = line_of_call(path, PYTHON_FUNCTIONS, number)
    haystack = f"{condition} {text.partition('JVM stacktrace')[0]}"
    key = "Python" if is_python else next((part for part in FIXES if part in haystack), "")
    fix = FIXES.get(key, "read the page of this condition")
    return Failure(
        condition, _first_line(text), place, number, fix, _python_page() if is_python else page_of(condition)
    )


def name_of(error: BaseException) -> str:
    """Return the error condition, else the deepest Java exception, else the Python type."""
    text = str(error)
    conditions = [name for name in CONDITION.findall(text) if name != "STREAM_FAILED"]
    if conditions:
        return str(max(conditions, key=lambda name: str(name).count(".")))
    if isinstance(error, PySparkException) and (condition := error.getCondition()):
        return str(condition)
    java = [name for name in JAVA_ERROR.findall(text) if name not in WRAPPERS]
    return str(java[-1]) if java else type(error).__name__


@cache
def page_of(condition: str) -> str:
    """Return the page with the section that reproduces a condition, or the overview of errors."""
    for path in files.references(files.ROOT):
        text = path.read_text(encoding="utf-8")
        for fence in markdown.fences(text):
            if fence.options.get("raises") == condition and path.name.startswith("errors"):
                section = [heading for heading in markdown.headings(text) if heading.line < fence.line][-1]
                return f"{files.relative(files.ROOT, path)}#{section.anchor}"
    return DEFAULT_PAGE


def _python_page() -> str:
    return "references/errors_in_rows.md#python-udf"


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    useful = [line for line in lines if CONDITION.search(line) and "STREAM_FAILED" not in line]
    return (useful or lines or [""])[0][:300]
