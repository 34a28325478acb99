"""
Rules about async progress, continuous mode, imports and clocks.

What arrives is a module with its queries; what leaves are problems.
Real-time mode demands commits at its own interval, and honest clocks.
"""

from collections.abc import Iterator

from scripts.lint.rules.rule import OSS_ONLY, Module, Problem, Rules, as_text
from scripts.lint.spark.steps import JOINS, is_stateful, steps
from scripts.lint.spark.streams import Query
from scripts.lint.spark.values import alternatives, known

MODE_RULES = Rules()
ENABLED = "asyncprogresstrackingenabled"
INTERVAL = "asyncprogresstrackingcheckpointintervalms"


@MODE_RULES.add("async-trigger")
def async_trigger(module: Module) -> Iterator[Problem]:
    """
    Find async progress tracking together with `availableNow` or `once`.

    Why: those triggers must commit before they end, and start() refuses the combination.

    Example:
        writer.option("asyncProgressTrackingEnabled", "true").trigger(availableNow=True).start()
    Use instead:
        writer.option("asyncProgressTrackingEnabled", "false").trigger(availableNow=True).start()
    Source: https://docs.databricks.com/aws/en/structured-streaming/async-progress-checking, 2026-11-20
    """
    for query, line in _async_queries(module):
        kinds = set(query.writer.trigger.kinds) & {"availableNow", "once"} if query.writer.trigger else set()
        for kind in kinds:
            message = f"async progress tracking cannot be used with {kind}, so start() fails"
            yield Problem(line, message, "drop the option", lines=query.writer.lines)


@MODE_RULES.add("async-state")
def async_state(module: Module) -> Iterator[Problem]:
    """
    Find async progress tracking in a query with state.

    Why: only stateless queries have it; one with state ends with an error after the start.

    Example:
        events.groupBy("key").count().selectExpr("key AS value")
        .writeStream.option("asyncProgressTrackingEnabled", "true")
    Use instead:
        events.select("value").writeStream.option("asyncProgressTrackingEnabled", "true")
    Source: https://docs.databricks.com/aws/en/structured-streaming/async-progress-checking, 2026-11-20
    """
    for query, line in _async_queries(module):
        if is_stateful(query.writer.frame):
            message = "async progress tracking does not work with state, so the query ends with an error"
            yield Problem(line, message, "drop the option", lines=query.writer.lines)


@MODE_RULES.add("async-interval")
def async_interval(module: Module) -> Iterator[Problem]:
    """
    Find a checkpoint interval of async progress tracking in a real-time query.

    Why: the trigger is the interval, and another fails with ASYNC_PROGRESS_TRACKING_CHECKPOINTING_INTERVAL_NON_ZERO.

    Example:
        writer.option("asyncProgressTrackingCheckpointIntervalMs", "1000").trigger(realTime="5 minutes").start()
    Use instead:
        writer.option("asyncProgressTrackingCheckpointIntervalMs", "0").trigger(realTime="5 minutes").start()
    Source: https://docs.databricks.com/aws/en/error-messages/streaming-real-time-mode-error-class, 2026-11-20
    """
    for query in module.real_time:
        options = query.writer.options
        value, line = options.get(INTERVAL, (None, 0))
        text = as_text(value)
        is_ignored = is_stateful(query.writer.frame) and ENABLED not in options
        if text is not None and text.strip() != "0" and not is_ignored:
            message = f"asyncProgressTrackingCheckpointIntervalMs is {text}, which real-time mode refuses"
            yield Problem(line, message, "drop the option or write 0", lines=query.writer.lines)


@MODE_RULES.add("continuous-operator", OSS_ONLY)
def continuous_operator(module: Module) -> Iterator[Problem]:
    """
    Find aggregation, repartition, joins and the current time in continuous mode.

    Why: continuous mode only maps and filters, and start() refuses the rest.

    Example:
        events.groupBy("key").count().selectExpr("key AS value").writeStream.trigger(continuous="1 second")
    Use instead:
        events.select("value").writeStream.trigger(continuous="1 second")
    Source: https://spark.apache.org/docs/4.3.0/streaming/performance-tips.html, 2026-11-20
    """
    for query in module.queries:
        if not query.writer.trigger or query.writer.trigger.kinds != ("continuous",):
            continue
        refused = [
            (step.name, step.line) for step in steps(query, "aggregate", "repartition", "dropDuplicates", *JOINS)
        ]
        for step in query.writer.frame.steps:
            refused += [("the current time", mark.line) for mark in step.marks if mark.kind == "clock"]
        for name, line in refused:
            message = f"continuous mode does not have {name}, so start() fails"
            fix = 'use real-time mode, trigger(realTime="5 minutes"), or micro-batches'
            yield Problem(line, message, fix, lines=query.writer.lines)


@MODE_RULES.add("foreach-writer-import")
def foreach_writer_import(module: Module) -> Iterator[Problem]:
    """
    Find the import of `ForeachWriter`, which only Scala and Java have.

    Why: the import fails; in Python any object with `process`, and optionally `open` and `close`, will do.

    Example:
        from pyspark.sql.streaming import ForeachWriter
    Use instead:
        writer.foreach(lambda row: None).trigger(realTime="5 minutes").start()
    Source: https://spark.apache.org/docs/4.3.0/streaming/apis-on-dataframes-and-datasets.html, 2026-11-20
    """
    for name, line in module.imports:
        if name.startswith("pyspark.") and name.endswith(".ForeachWriter"):
            message = "PySpark has no ForeachWriter, so the import fails"
            yield Problem(line, message, "write a class of your own with open, process and close, and no base class")


@MODE_RULES.add("frozen-clock", severity="warning")
def frozen_clock(module: Module) -> Iterator[Problem]:
    """
    Find `current_timestamp()` used to measure latency in a real-time query.

    Why: it stands still for the whole batch, so with the default it is up to five minutes old.

    Example:
        events.withColumn("latency", F.unix_millis(F.current_timestamp()))
    Use instead:
        events.withColumn("read_ms", F.expr("reflect('java.lang.System', 'currentTimeMillis')"))
    Source: https://docs.databricks.com/aws/en/structured-streaming/real-time/performance, 2026-11-20
    """
    message = "current_timestamp() stands still for a whole batch, so this is no latency"
    fix = "take the append times of Kafka, or reflect('java.lang.System', 'currentTimeMillis')"
    for query, mark in module.marks("clock-difference"):
        yield Problem(mark.line, message, fix, lines=query.writer.lines)


def _async_queries(module: Module) -> Iterator[tuple[Query, int]]:
    for query in module.queries:
        value, line = query.writer.options.get(ENABLED, (None, 0))
        if known(value) and as_text(value) == "true" and len(alternatives(value)) == 1:
            yield query, line
