"""Rules about stateful operators and Python functions."""

from collections.abc import Iterator

from spark_rtm.lint.problem import Problem
from spark_rtm.lint.rules.rule import ALLOWLIST_CONDITION, BOTH, DATABRICKS_ONLY, OSS_ONLY, Rules
from spark_rtm.lint.spark.streams import Query
from spark_rtm.lint.spark.values import texts_of

RULES = Rules()


@RULES.add("session-window", subject="query")
def session_window(query: Query) -> Iterator[Problem]:
    """
    Checks for session windows in real-time queries.

    Why: Session windows do not work in update mode, the only output mode of real-time mode.

    Reported at: the call to `session_window`.

    Example: events.groupBy(F.session_window(F.current_timestamp(), "5 minutes")).count()
    Use instead: events.groupBy(F.window(F.current_timestamp(), "5 minutes")).count()
    Source: [test], [reference]
    """
    message = "real-time mode does not support session windows, so the query does not start"
    fix = "use window(...), or transformWithState with a timer"
    for mark in query.marks("session_window"):
        yield Problem(mark.line, message, fix)


@RULES.add("dedup-within-watermark", subject="query")
def dedup_within_watermark(query: Query) -> Iterator[Problem]:
    """
    Checks for `dropDuplicatesWithinWatermark` in real-time queries.

    Why: Not every engine and version supports this method.

    OSS: an error, OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.
    Databricks: a warning, because versions of the documentation disagree.

    Reported at: the operator.

    Example:
        events.withColumn("at", F.current_timestamp()).withWatermark("at", "1 minute")
        .dropDuplicatesWithinWatermark(["key"])
    Use instead:
        events.withColumn("at", F.current_timestamp()).withWatermark("at", "1 minute")
        .dropDuplicates(["key", "at"])
    Source: [test], [reference]
    """
    fix = "call withWatermark and then dropDuplicates, with the event-time column among its columns"
    for step in query.steps("dropDuplicatesWithinWatermark"):
        refused = f"dropDuplicatesWithinWatermark fails in real-time mode with {ALLOWLIST_CONDITION}"
        yield Problem(step.line, refused, fix, OSS_ONLY)
        uncertain = "some Databricks Runtimes do not support dropDuplicatesWithinWatermark in real-time mode"
        yield Problem(step.line, uncertain, fix, DATABRICKS_ONLY, "warning")


@RULES.add("legacy-state", subject="query")
def legacy_state(query: Query) -> Iterator[Problem]:
    """
    Checks for `applyInPandasWithState`, `mapGroupsWithState` and `flatMapGroupsWithState` in real-time queries.

    Why: These operators sort their input, which is impossible for an unbounded stream. OSS reports
    OPERATOR_OR_SINK_NOT_IN_ALLOWLIST. Databricks reports ARBITRARY_STATEFUL_OPERATIONS_NOT_SUPPORTED.

    Reported at: the operator.

    Example:
        events.groupBy("key")
        .applyInPandasWithState(lambda key, rows, state: rows, "key binary", "n int", "update", "NoTimeout")
    Use instead: events.groupBy("key").count()
    Source: [test], [reference], [error list]
    """
    fix = "use aggregation, or transformWithState where the engine supports it in real-time mode"
    for step in query.steps("applyInPandasWithState", "mapGroupsWithState", "flatMapGroupsWithState"):
        yield Problem(step.line, f"real-time mode does not support {step.name}, so the query fails", fix)


@RULES.add("event-time-timer", DATABRICKS_ONLY, subject="query")
def event_time_timer(query: Query) -> Iterator[Problem]:
    """
    Checks for `transformWithState` with `timeMode="EventTime"` in real-time queries on Databricks.

    Why: Databricks has no event-time timers in real-time mode. Open-source Spark has these timers only in Scala.

    Reported at: the operator.

    Example: events.groupBy("key").transformWithState(..., "key binary", "update", "EventTime")
    Use instead: events.groupBy("key").transformWithState(..., "key binary", "update", "ProcessingTime")
    Source: [reference]
    """
    for step in query.steps("transformWithState"):
        modes = [text.lower() for text in texts_of(step.arguments.get("timeMode", 3))]
        if modes and all(mode == "eventtime" for mode in modes):
            message = "real-time mode does not support event-time timers, so the query fails"
            fix = 'write timeMode="ProcessingTime", and compare event times in the processor'
            yield Problem(step.line, message, fix)


@RULES.add("python-udf", OSS_ONLY, subject="query")
def python_udf(query: Query) -> Iterator[Problem]:
    """
    Checks for Python and pandas UDFs in real-time queries.

    Why: The operator that runs Python fails with OPERATOR_OR_SINK_NOT_IN_ALLOWLIST. Databricks supports Python UDFs.

    Reported at: the call to the function, not its `@udf`.

    Example: events.select(F.udf(lambda value: value, "binary")("value").alias("value"))
    Use instead: events.select(F.upper("value").alias("value"))
    Source: [test], [reference]
    """
    message = f"Python UDFs fail in real-time mode with {ALLOWLIST_CONDITION}"
    fix = "use pyspark.sql.functions or SQL expressions, or with_python from spark_rtm.realtime.python_state"
    for mark in query.marks("udf"):
        yield Problem(mark.line, message, fix)


@RULES.add("map-in-pandas", subject="query")
def map_in_pandas(query: Query) -> Iterator[Problem]:
    """
    Checks for `mapInPandas` and `mapInArrow` in real-time queries.

    Why: Spark calls the function once for a whole partition, so the function itself decides when it returns rows.

    OSS: an error, OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.
    Databricks: a warning, because versions of the documentation disagree.

    Reported at: the operator.

    Example: events.mapInPandas(lambda frames: frames, "key binary, value binary")
    Use instead: events.select("key", F.upper("value").alias("value"))
    Source: [test], [limitations]
    """
    fix = "use pyspark.sql.functions or SQL expressions"
    for step in query.steps("mapInPandas", "mapInArrow"):
        refused = f"{step.name} fails in real-time mode with {ALLOWLIST_CONDITION}"
        yield Problem(step.line, refused, fix, OSS_ONLY)
        uncertain = f"the newest Databricks limitations page excludes {step.name} from real-time mode"
        yield Problem(step.line, uncertain, fix, DATABRICKS_ONLY, "warning")


@RULES.add("python-state", subject="query")
def python_state(query: Query) -> Iterator[Problem]:
    """
    Checks for Python processors in real-time queries.

    Why: OSS fails with STDS_FAILED_TO_READ_OPERATOR_METADATA. Databricks supports only `transformWithState` with rows.

    Both engines: `transformWithStateInPandas`.
    OSS: `transformWithState`, which Databricks supports from 17.3 LTS.

    Reported at: the operator.

    Example: events.groupBy("key").transformWithStateInPandas(..., "key binary", "update", "ProcessingTime")
    Use instead: events.groupBy("key").count()
    Source: [test], [limitations]
    """
    for step in query.steps("transformWithState", "transformWithStateInPandas"):
        engines = OSS_ONLY if step.name == "transformWithState" else BOTH
        message = f"Python's {step.name} does not run in real-time mode, so the query fails"
        fix = (
            "use an aggregation or micro-batch mode; on OSS, python_state from spark_rtm also works, and on "
            "Databricks, transformWithState with Row"
        )
        yield Problem(step.line, message, fix, engines)
