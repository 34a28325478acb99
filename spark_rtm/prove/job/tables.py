"""
Replace the batch reads and writes of a job: use the local broker, or skip and record the access.

Every JVM call passes through `guarded`, whether PySpark or the job makes the call. SQL is judged by its parsed plan.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from py4j.java_gateway import JavaMember
from py4j.protocol import Py4JJavaError
from pyspark.errors import ParseException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter
from pyspark.sql.types import DataType

from spark_rtm.prove.job.placeholders import Anything, file_in
from spark_rtm.prove.job.recorders import Options, Recording
from spark_rtm.prove.job.target import roots_of
from spark_rtm.prove.records.plan import NUMBERS
from spark_rtm.services.folders import new_folder


class TableReader(Options, DataFrameReader):
    """
    A replacement for `spark.read`.

    If a table is missing and the job specifies its schema, two generated rows replace the table.
    """

    columns: Any = None

    def schema(self, schema: Any) -> Any:
        """Record the schema."""
        self.columns = schema
        return super().schema(schema)

    def load(self, *arguments: Any, **named: Any) -> DataFrame:
        """Return a local topic's rows, or read the job's source."""
        bound = _bound(DataFrameReader.load, self, *arguments, **named).arguments
        if (bound.get("format") or self.noted.get("format", "")).lower() != "kafka":
            return self.read("load", *arguments, **named)
        self.redirect(bound.get("options", {}), is_stream=False)
        return super().load(format="kafka")

    def read(self, name: str, *arguments: Any, **named: Any) -> DataFrame:
        """Call PySpark's method `name` with paths in the job's folders, and return the rows."""
        method = getattr(DataFrameReader, name)
        bound = _bound(method, self, *arguments, **named)
        key = "paths" if "paths" in bound.signature.parameters else "path"
        path, place = bound.arguments.get(key), partial(file_in, roots_of(self.recording.job))
        bound.arguments[key] = type(path)(map(place, path)) if isinstance(path, list | tuple) else place(path)
        try:
            rows: DataFrame = method(*bound.args, **bound.kwargs)
        except (PySparkException, Py4JJavaError):
            columns = bound.arguments.get("schema") or self.columns
            if columns is None:
                raise
            self.recording.absent[str(path)] = self.recording.line()
            spark = self.recording.spark
            schema = spark.createDataFrame([], columns).schema
            return spark.range(1, 3).select(
                *(_made(field.dataType).cast(field.dataType).alias(field.name) for field in schema)
            )
        return rows


class TableWriter(Options, DataFrameWriter):
    """
    A replacement for `DataFrame.write`.

    Kafka writes go to the local broker. Other writes would change one of the user's stores (see `writes`).
    """

    def save(
        self, path: str | None = None, format: str | None = None, mode: str | None = None, partitionBy: Any = None,
        **options: Any,
    ) -> None:  # fmt: skip
        """Write to the local broker, or record the write."""
        kind = format or self.noted.get("format", "parquet")
        if kind.lower() == "kafka":
            self.options(**options)
            self.options(**self.recording.redirect_write(self.noted))
            self.recording.may_call = True
            try:
                super().save(format="kafka")
            finally:
                self.recording.may_call = False
        elif self.recording.may_write(kind):
            super().save(path, format, mode, partitionBy, **options)


def _bound(method: Callable[..., Any], *arguments: Any, **named: Any) -> inspect.BoundArguments:
    return inspect.signature(method).bind(*arguments, **named)


def _reading(name: str) -> Any:
    return lambda reader, *arguments, **named: reader.read(name, *arguments, **named)


for _format in ("csv", "json", "parquet"):
    setattr(TableReader, _format, _reading(_format))


def _made(kind: DataType) -> Column:
    made = {"string": F.concat(F.lit("a"), F.col("id").cast("string"))}
    made |= {**dict.fromkeys(("date", "timestamp"), F.current_timestamp()), **dict.fromkeys(NUMBERS, F.col("id"))}
    return made.get(kind.typeName(), F.lit(None))


WRITES = {
    r"\w*": r"save\w*",
    r"\w*DataFrameWriter": "insertInto|csv|json|jdbc|orc|parquet|text|xml",
    r"\w*DataFrameWriterV2": r"append|create\w*|overwrite\w*|replace",
    r"\w*MergeIntoWriter": "merge",
    r"\w*DataStreamWriter": "start|toTable",
    r"\w*SparkSession": "executeCommand",
    r"\w*Catalog": r"(create|drop)\w*(Table|Database)|recoverPartitions",
    r"\w*FileSystem|LocalFiles|FileUtil": r"(append|copy|create|delete|fullyDelete|mkdirs|moveFrom|rename|truncate)\w*",
}
"""Patterns for methods that write, by pattern for the class. Machine-learning model writers also have `save`."""
METHOD = re.compile("|".join([*WRITES.values(), "sql", "setCheckpointDir", "writeTo", "mergeInto"]))
WRITE = re.compile("|".join(rf"({owner})\.({methods})" for owner, methods in WRITES.items()))
TABLES = {"saveAsTable": 0, "insertInto": 0, "jdbc": 1}
"""Position of the table name argument. The database address could contain a password."""

# Pattern for statements that only read, or change only the session. Other views and functions are in a catalog.
ALLOWED = re.compile(
    r"(Show|Describe|Explain|List|Refresh|Cache|Uncache|ClearCache)\w*|SetCommand|ResetCommand|SetVariable"
    r"|SetCatalogCommand|SetNamespaceCommand|SetCatalogAndNamespace|(Create|Drop)Variable|CreateTempViewUsing"
    r"|CreateViewCommand|Create(SQL)?FunctionCommand|DropFunctionCommand|Add(Jars|Files|Archives)Command"
)
COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command"
# Plan nodes that write although their class is not a command.
WRITERS = {"InsertIntoStatement", "InsertIntoDir", "UnresolvedExecuteImmediate", "Call"}
FIRST_WORD = re.compile(r"(?:--[^\n]*(?:\n|$)|/\*.*?\*/|[\s(;])*(\w*)", re.DOTALL)
QUERIES = {"", "select", "with", "from", "values", "table", "map", "reduce"}


def to_kafka(
    rows: DataFrame, *, checkpoint: str, options: Mapping[str, str], topic: str = "", **_transactions: Any
) -> Any:
    """Replace the sink of `exactly_once` by Spark's sink, which has the same columns and options."""
    named = {"topic": topic} if topic else {}
    return rows.writeStream.format("kafka").options(**options, **named, checkpointLocation=checkpoint)


def guarded(recording: Recording, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `JavaMember.__call__` that records writes instead of executing them."""
    table = "?"

    def door(member: JavaMember, *arguments: Any) -> Any:
        nonlocal table
        if recording.may_call or not METHOD.fullmatch(member.name):
            return call(member, *arguments)
        # A static method has no object, and its target is `z:` followed by the class.
        owner = member.container.getClass().getName() if member.container is not None else member.target_id
        kind = f"{owner.rpartition('.')[2]}.{member.name}"
        if member.name == "sql" and "SparkSession" in kind:
            return _sql(recording, lambda: call(member, *arguments), str(arguments[0]))
        if member.name == "setCheckpointDir":
            return call(member, f"file:{new_folder('checkpoint')}")
        if member.name in {"writeTo", "mergeInto"}:
            table = str(arguments[0])
        if not WRITE.fullmatch(kind):
            return call(member, *arguments)
        number = TABLES.get(member.name)
        named = table if "V2." in kind or "Merge" in kind else "" if number is None else arguments[number]
        prefix = "jdbc " if member.name == "jdbc" else ""
        recording.note_write(f"{prefix}table {named}" if named else member.name)
        return Anything()

    return door


def _sql(recording: Recording, run: Callable[[], Any], text: str) -> Any:
    """Return a statement's result, or an empty result if the statement is skipped."""
    word = FIRST_WORD.match(text)[1].lower()  # type: ignore[index]
    kind = statement(recording, text, word)
    try:
        if not kind:
            return run()
    except (PySparkException, Py4JJavaError):
        # The local session lacks the databases and catalogs of the user's cluster.
        if word != "use":
            raise
    recording.note_write(f"SQL {kind or word.upper()}")
    return recording.spark.range(0)._jdf  # noqa: SLF001 - the caller expects a JVM result


def statement(recording: Recording, text: str, word: str) -> str:
    """Return the kind of a forbidden SQL statement, or an empty string. `word` is the statement's first word."""
    spark = recording.spark
    try:
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)  # noqa: SLF001 - not public
    except ParseException:
        # Extensions such as Delta add statements.
        return "" if word in QUERIES else word.upper()
    name = _name(plan)
    is_command = spark._jvm.Class.forName(COMMAND).isInstance(plan)  # type: ignore[union-attr]  # noqa: SLF001
    is_temporary = name == "DropView" and plan.child().nameParts().size() == 1
    if is_command:
        return "" if ALLOWED.fullmatch(name) or is_temporary else name
    return next((name.removesuffix("Statement") for name in _names(plan) if name in WRITERS), "")


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName()).rstrip("$")


def _names(node: Any) -> list[str]:
    children = node.children()
    return [_name(node), *(name for n in range(children.size()) for name in _names(children.apply(n)))]
