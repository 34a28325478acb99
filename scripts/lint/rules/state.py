"""
Rules about operators with state, and about Python on the path of a row.

What arrives is a module with its queries; what leaves are problems.
Real-time mode demands operators on its list of allowed ones, which differs between the engines.
"""

from collections.abc import Iterator

from scripts.lint.rules.rule import BOTH, DATABRICKS_ONLY, OSS_ONLY, Module, Problem, Rules
from scripts.lint.rules.source import ALLOWLIST
from scripts.lint.spark.steps import steps
from scripts.lint.spark.values import texts_of

STATE_RULES = Rules()


@STATE_RULES.add("session-window")
def session_window(module: Module) -> Iterator[Problem]:
    """
    Find session windows in a real-time query.

    Why: they do not exist in update mode, the only one that real-time mode has.

    Example:
        events.groupBy(F.session_window(F.current_timestamp(), "5 minutes")).count()
    Use instead:
        events.groupBy(F.window(F.current_timestamp(), "5 minutes")).count()
    Source: https://docs.databricks.com/aws/en/structured-streaming/real-time/reference, 2026-11-20
    """
    message = "real-time mode has no session windows, so the query does not start"
    fix = "use window(...), or transformWithState with a timer"
    for query, mark in module.marks("session_window"):
        yield Problem(mark.line, message, fix, lines=query.writer.lines)


@STATE_RULES.add("dedup-within-watermark")
def dedup_within_watermark(module: Module) -> Iterator[Problem]:
    """
    Find `dropDuplicatesWithinWatermark` in a real-time query.

    Why: open-source Spark 4.3 refuses it, and the pages of Databricks contradict each other.

    Example:
        events.withColumn("at", F.current_timestamp()).withWatermark("at", "1 minute")
        .dropDuplicatesWithinWatermark(["key"])
    Use instead:
        events.withColumn("at", F.current_timestamp()).withWatermark("at", "1 minute")
        .dropDuplicates(["key", "at"])
    Source: https://docs.databricks.com/aws/en/structured-streaming/real-time/reference, 2026-11-20
    """
    fix = "use dropDuplicates with the event-time column among its columns, below a watermark"
    for query in module.real_time:
        for step in steps(query, "dropDuplicatesWithinWatermark"):
            refused = f"real-time mode refuses dropDuplicatesWithinWatermark with {ALLOWLIST}"
            yield Problem(step.line, refused, fix, OSS_ONLY, lines=query.writer.lines)
            doubtful = "not every runtime takes dropDuplicatesWithinWatermark in real-time mode"
            yield Problem(step.line, doubtful, fix, DATABRICKS_ONLY, "warning", lines=query.writer.lines)


@STATE_RULES.add("legacy-state")
def legacy_state(module: Module) -> Iterator[Problem]:
    """
    Find `applyInPandasWithState`, `mapGroupsWithState` and `flatMapGroupsWithState` in a real-time query.

    Why: they sort their input, which never ends, and are refused with OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.

    Example:
        events.groupBy("key")
        .applyInPandasWithState(lambda key, rows, state: rows, "key binary", "n int", "update", "NoTimeout")
    Use instead:
        events.groupBy("key").count()
    Source: https://docs.databricks.com/aws/en/structured-streaming/real-time/reference, 2026-11-20
    """
    for query in module.real_time:
        for step in steps(query, "applyInPandasWithState", "mapGroupsWithState", "flatMapGroupsWithState"):
            message = f"real-time mode refuses {step.name} with {ALLOWLIST}"
            fix = "use aggregation, or transformWithState where the engine has it in real-time mode"
            yield Problem(step.line, message, fix, lines=query.writer.lines)


@STATE_RULES.add("event-time-timer", DATABRICKS_ONLY)
def event_time_timer(module: Module) -> Iterator[Problem]:
    """
    Find `transformWithState` in event-time mode in a real-time query on Databricks.

    Why: Databricks has only processing-time timers in real-time mode; open-source Spark has both, from Scala.

    Example:
        events.groupBy("key").transformWithState(..., "key binary", "update", "EventTime")
    Use instead:
        events.groupBy("key").transformWithState(..., "key binary", "update", "ProcessingTime")
    Source: https://docs.databricks.com/aws/en/structured-streaming/real-time/reference, 2026-11-20
    """
    for query in module.real_time:
        for step in steps(query, "transformWithState"):
            modes = [text.lower() for text in texts_of(step.arguments.get("timeMode", 3))]
            if modes and all(mode == "eventtime" for mode in modes):
                message = "Databricks has no event-time timers in real-time mode, so the query fails"
                fix = 'write timeMode="ProcessingTime", and compare event times in the row'
                yield Problem(step.line, message, fix, lines=query.writer.lines)


@STATE_RULES.add("python-udf", OSS_ONLY)
def python_udf(module: Module) -> Iterator[Problem]:
    """
    Find Python and pandas functions on the path of a real-time query in open-source Spark.

    Why: the operator that calls Python is refused with OPERATOR_OR_SINK_NOT_IN_ALLOWLIST; Databricks allows it.

    Example:
        events.select(F.udf(lambda value: value, "binary")("value").alias("value"))
    Use instead:
        events.select(F.upper("value").alias("value"))
    Source: https://spark.apache.org/docs/4.3.0/streaming/real-time-mode.html, 2026-11-20
    """
    message = f"open-source Spark refuses a Python function in real-time mode with {ALLOWLIST}"
    fix = "use functions of pyspark.sql.functions or SQL expressions"
    for query, mark in module.marks("udf"):
        yield Problem(mark.line, message, fix, lines=query.writer.lines)


@STATE_RULES.add("map-in-pandas")
def map_in_pandas(module: Module) -> Iterator[Problem]:
    """
    Find `mapInPandas` and `mapInArrow` in a real-time query.

    Why: open-source Spark refuses them, and the pages of Databricks contradict each other.

    Example:
        events.mapInPandas(lambda frames: frames, "key binary, value binary")
    Use instead:
        events.select("key", F.upper("value").alias("value"))
    Source: https://docs.databricks.com/aws/en/structured-streaming/real-time/limitations, 2026-11-20
    """
    fix = "use functions of pyspark.sql.functions or SQL expressions"
    for query in module.real_time:
        for step in steps(query, "mapInPandas", "mapInArrow"):
            refused = f"real-time mode refuses {step.name} with {ALLOWLIST}"
            yield Problem(step.line, refused, fix, OSS_ONLY, lines=query.writer.lines)
            doubtful = f"the newest limitations of Databricks exclude {step.name} from real-time mode"
            yield Problem(step.line, doubtful, fix, DATABRICKS_ONLY, "warning", lines=query.writer.lines)


@STATE_RULES.add("python-state")
def python_state(module: Module) -> Iterator[Problem]:
    """
    Find Python's `transformWithState` in a real-time query of open-source Spark, and its pandas form anywhere.

    Why: open-source Spark fails with STDS_FAILED_TO_READ_OPERATOR_METADATA; Databricks has the Row form only.

    Example:
        events.groupBy("key").transformWithState(..., "key binary", "update", "ProcessingTime")
    Use instead:
        events.groupBy("key").count()
    Source: https://docs.databricks.com/aws/en/stateful-applications, 2026-11-20
    """
    for query in module.real_time:
        for step in steps(query, "transformWithState", "transformWithStateInPandas"):
            engines = OSS_ONLY if step.name == "transformWithState" else BOTH
            message = f"Python's {step.name} does not run in real-time mode, so the query fails"
            fix = "use aggregation, or start this query in micro-batch mode; Databricks runs transformWithState (Row)"
            yield Problem(step.line, message, fix, engines, lines=query.writer.lines)
