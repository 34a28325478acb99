"""
Rules about the source and the sink of a query.

What arrives is a module with its queries; what leaves are problems.
Real-time mode demands a source and a sink that work row by row.
"""

from collections.abc import Iterator

from scripts.lint.rules.rule import BOTH, DATABRICKS_ONLY, OSS_ONLY, Module, Problem, Rules
from scripts.lint.spark.streams import Source
from scripts.lint.spark.values import text_of

SOURCE_RULES = Rules()
FILES = ("avro", "binaryfile", "csv", "json", "orc", "parquet", "text", "xml")
SOURCES = {
    **dict.fromkeys([*FILES, "cloudfiles", "delta", "deltasharing", "rate-micro-batch", "socket", "table"], BOTH),
    **dict.fromkeys(["eventhubs", "pubsub", "pulsar"], DATABRICKS_ONLY),
    "rate": OSS_ONLY,
}
SINKS = {
    **dict.fromkeys([*FILES, "cloudfiles", "delta", "jdbc", "memory", "rate", "socket"], BOTH),
    **dict.fromkeys(["eventhubs", "kinesis", "pubsub", "pulsar"], DATABRICKS_ONLY),
    **dict.fromkeys(["noop", "table"], OSS_ONLY),
}
ALLOWLIST = "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"


@SOURCE_RULES.add("source")
def source(module: Module) -> Iterator[Problem]:
    """
    Find sources that real-time mode refuses: files, Delta, Auto Loader, sockets, and rate in open-source Spark.

    Why: only sources that can be read row by row are accepted, others end in INPUT_STREAM_NOT_SUPPORTED.

    Example:
        spark.readStream.format("rate")
    Use instead:
        spark.readStream.format("kafka")
    Source: https://docs.databricks.com/aws/en/structured-streaming/real-time/reference, 2026-11-20
    """
    for query in module.real_time:
        for each in query.writer.frame.sources:
            name = (text_of(each.format) or "").lower() if isinstance(each, Source) else ""
            if name in SOURCES and isinstance(each, Source) and query.writer.frame.is_streaming:
                message = f"real-time mode cannot read {name!r}: the query ends with INPUT_STREAM_NOT_SUPPORTED"
                fix = "read from Kafka, or keep this query in micro-batch mode"
                yield Problem(each.line, message, fix, SOURCES[name], lines=query.writer.lines)


@SOURCE_RULES.add("sink")
def sink(module: Module) -> Iterator[Problem]:
    """
    Find sinks that real-time mode refuses: files, Delta, JDBC, memory, and noop and tables in open-source Spark.

    Why: only sinks that take rows one by one are allowed, others fail with OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.

    Example:
        events.writeStream.format("noop").outputMode("update").trigger(realTime="5 minutes").start()
    Use instead:
        events.writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()
    Source: https://docs.databricks.com/aws/en/structured-streaming/real-time/reference, 2026-11-20
    """
    for query in module.real_time:
        writer = query.writer
        if any(name in {"foreach", "foreachBatch"} for name, _ in writer.sinks):
            continue
        if writer.format is None and query.start_line and "path" in writer.options and not writer.is_open:
            message = "no sink is named, so rows go to files, which real-time mode refuses"
            yield Problem(query.start_line, message, 'write .format("kafka") or .foreach(...)', lines=writer.lines)
        elif writer.format is not None:
            name = (text_of(writer.format[0]) or "").lower()
            engines = SINKS.get(name)
            if engines:
                message = f"real-time mode cannot write to {name!r}: the query fails with {ALLOWLIST}"
                fix = "write to Kafka or with foreach, and let another query fill the table or the files"
                yield Problem(writer.format[1], message, fix, engines, lines=writer.lines)


@SOURCE_RULES.add("foreach-batch")
def foreach_batch(module: Module) -> Iterator[Problem]:
    """
    Find `foreachBatch` in a real-time query.

    Why: rows do not come in batches, and the sink is refused with OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.

    Example:
        writer.foreachBatch(lambda rows, batch: None).trigger(realTime="5 minutes").start()
    Use instead:
        writer.foreach(lambda row: None).trigger(realTime="5 minutes").start()
    Source: https://docs.databricks.com/aws/en/structured-streaming/real-time/reference, 2026-11-20
    """
    for query in module.real_time:
        for name, line in query.writer.sinks:
            if name == "foreachBatch":
                message = f"foreachBatch has no batches in real-time mode, and the query fails with {ALLOWLIST}"
                fix = (
                    "use foreach, which gets row by row, or write to Kafka and run foreachBatch in a micro-batch query"
                )
                yield Problem(line, message, fix, lines=query.writer.lines)
