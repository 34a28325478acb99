"""Rules about asynchronous progress tracking, continuous mode, imports and clocks."""

from collections.abc import Iterator

from spark_rtm.lint.problem import Problem
from spark_rtm.lint.rules.rule import DATABRICKS_ONLY, OSS_ONLY, Rules
from spark_rtm.lint.spark.module import Module
from spark_rtm.lint.spark.steps import JOINS, stateful_steps
from spark_rtm.lint.spark.streams import Query
from spark_rtm.lint.spark.values import alternatives, as_text, known, quoted

RULES = Rules()
ENABLED = "asyncprogresstrackingenabled"
INTERVAL = "asyncprogresstrackingcheckpointintervalms"


@RULES.add("async-trigger")
def async_trigger(module: Module) -> Iterator[Problem]:
    """
    Checks for asynchronous progress tracking together with `availableNow` or `once`.

    Why: A query with either trigger must commit before it ends, so asynchronous progress tracking makes start() fail.

    Reported at: the option that turns the tracking on, even in a dictionary.

    Example: writer.option("asyncProgressTrackingEnabled", "true").trigger(availableNow=True).start()
    Use instead: writer.option("asyncProgressTrackingEnabled", "false").trigger(availableNow=True).start()
    Source: [test], [async]
    """
    for query, line in _async_queries(module):
        kinds = set(query.writer.trigger.kinds) & {"availableNow", "once"} if query.writer.trigger else set()
        for kind in kinds:
            message = f"asynchronous progress tracking does not work with {kind}, so start() fails"
            yield Problem(line, message, "remove the option", lines=query.writer.lines)


@RULES.add("async-state", OSS_ONLY)
def async_state(module: Module) -> Iterator[Problem]:
    """
    Checks for asynchronous progress tracking in stateful queries.

    Why: On OSS, a stateful query with this option fails after it starts. Databricks publishes such examples.

    Reported at: the option that turns the tracking on, even in a dictionary.

    Example:
        events.groupBy("key").count().selectExpr("key AS value")
        .writeStream.option("asyncProgressTrackingEnabled", "true")
    Use instead: events.select("value").writeStream.option("asyncProgressTrackingEnabled", "true")
    Source: [test], [async]
    """
    for query, line in _async_queries(module):
        if stateful_steps(query.writer.frame):
            message = "asynchronous progress tracking does not support state, so the query fails after it starts"
            yield Problem(line, message, "remove the option", lines=query.writer.lines)


@RULES.add("async-interval", subject="query")
def async_interval(query: Query) -> Iterator[Problem]:
    """
    Checks for real-time queries that set `asyncProgressTrackingCheckpointIntervalMs` to a value other than 0.

    Why: The trigger sets this interval. Other values fail with ASYNC_PROGRESS_TRACKING_CHECKPOINTING_INTERVAL_NON_ZERO.

    Reported at: the line that sets the option, also in a dictionary of options.

    Example: writer.option("asyncProgressTrackingCheckpointIntervalMs", "1000").trigger(realTime="5 minutes").start()
    Use instead: writer.option("asyncProgressTrackingCheckpointIntervalMs", "0").trigger(realTime="5 minutes").start()
    Source: [test], [error list]
    """
    options = query.writer.options
    value, line = options.get(INTERVAL, (None, 0))
    text = as_text(value)
    is_ignored = stateful_steps(query.writer.frame) and ENABLED not in options
    if text is not None and text.strip() != "0" and not is_ignored:
        message = f"asyncProgressTrackingCheckpointIntervalMs is {quoted(text)}, but real-time mode requires 0"
        yield Problem(line, message, "remove the option or set it to 0")


@RULES.add("continuous-operator", OSS_ONLY)
def continuous_operator(module: Module) -> Iterator[Problem]:
    """
    Checks for aggregation, deduplication, `repartition`, joins and current-time functions in continuous mode.

    Why: Continuous mode supports only map and filter operations, so start() fails.

    Reported at: the operator; for an aggregation, the method that aggregates.

    Example: events.groupBy("key").count().selectExpr("key AS value").writeStream.trigger(continuous="1 second")
    Use instead: events.select("value").writeStream.trigger(continuous="1 second")
    Source: [test]
    """
    for query in module.queries:
        if not query.writer.trigger or query.writer.trigger.kinds != ("continuous",):
            continue
        operators = query.steps("aggregate", "repartition", "dropDuplicates", *JOINS)
        refused = [(step.name, step.line) for step in operators]
        refused += [("the current time", mark.line) for mark in query.marks("clock")]
        for name, line in refused:
            message = f"continuous mode does not support {name}, so start() fails"
            fix = 'use real-time mode with trigger(realTime="5 minutes"), or micro-batch mode'
            yield Problem(line, message, fix, lines=query.writer.lines)


@RULES.add("continuous-trigger", DATABRICKS_ONLY)
def continuous_trigger(module: Module) -> Iterator[Problem]:
    """
    Checks for the continuous trigger in code for Databricks.

    Why: Databricks does not support continuous processing, and its documentation refers to real-time mode.

    Reported at: the keyword `continuous`, even in a dictionary.

    Example:
        # Databricks notebook source
        events.select("value").writeStream.trigger(continuous="1 second")
    Use instead:
        # Databricks notebook source
        events.select("value").writeStream.trigger(realTime="5 minutes")
    Source: [triggers]
    """
    for trigger in module.triggers if module.is_databricks else ():
        if trigger.kinds == ("continuous",):
            message = "the continuous trigger is not supported"
            fix = 'write .trigger(realTime="5 minutes") for real-time mode'
            yield Problem(trigger.line_of("continuous"), message, fix, lines=trigger.lines)


@RULES.add("foreach-writer-import")
def foreach_writer_import(module: Module) -> Iterator[Problem]:
    """
    Checks for imports of `ForeachWriter`, which exists only in Scala and Java.

    Why: The import fails. In Python, `foreach` takes an object with `process`; `open` and `close` are optional.

    Reported at: the import.

    Example: from pyspark.sql.streaming import ForeachWriter
    Use instead: writer.foreach(lambda row: None).trigger(realTime="5 seconds").start()
    Source: [test]
    """
    for name, line in module.imports:
        if name.startswith("pyspark.") and name.endswith(".ForeachWriter"):
            message = "PySpark has no ForeachWriter, so the import fails"
            yield Problem(line, message, "write a class with open, process and close, without a base class")


@RULES.add("frozen-clock", severity="warning", subject="query")
def frozen_clock(query: Query) -> Iterator[Problem]:
    """
    Checks for `current_timestamp()` in latency calculations of real-time queries.

    Why: `current_timestamp()` is constant during a batch, so with the default interval it can be five minutes old.

    Reported at: the line where the clock is used.

    Example: events.withColumn("latency", F.unix_millis(F.current_timestamp()))
    Use instead: events.withColumn("read_ms", F.expr("reflect('java.lang.System', 'currentTimeMillis')"))
    Source: [functions](sources_sinks_operators.md#functions)
    """
    message = "current_timestamp() is constant during a batch, so the difference does not measure latency"
    fix = "use the Kafka append time, or reflect('java.lang.System', 'currentTimeMillis')"
    for mark in query.marks("clock-difference"):
        yield Problem(mark.line, message, fix)


@RULES.add("pipeline-flow", DATABRICKS_ONLY)
def pipeline_flow(module: Module) -> Iterator[Problem]:
    """
    Checks for pipeline tables, views and append flows with the real-time trigger.

    Why: In declarative pipelines, only an update flow into a sink runs in real-time mode; SQL lacks update flows.

    Reported at: the decorator or the property that sets the trigger.

    Example:
        @dp.table(spark_conf={"pipelines.trigger": "RealTime"})
        def alerts(): return events
    Use instead:
        @dp.update_flow(target="alerts", spark_conf={"pipelines.trigger": "RealTime"})
        def alerts(): return events
    Source: [pipelines]
    """
    for name, line in module.flows:
        message = f"{name} sets a RealTime trigger, but in pipelines only update flows run in real-time mode"
        fix = "define the output with dp.create_sink, and write to it with @dp.update_flow(target=..., spark_conf=...)"
        yield Problem(line, message, fix)


def _async_queries(module: Module) -> Iterator[tuple[Query, int]]:
    for query in module.queries:
        value, line = query.writer.options.get(ENABLED, (None, 0))
        if known(value) and as_text(value) == "true" and len(alternatives(value)) == 1:
            yield query, line
