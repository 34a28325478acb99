"""Rules about a query's source, sink, output mode, columns and missing checkpoint."""

from collections.abc import Iterator

from spark_rtm.lint.problem import Problem
from spark_rtm.lint.rules.rule import BOTH, DATABRICKS_ONLY, OSS_ONLY, Rules
from spark_rtm.lint.spark.module import Module
from spark_rtm.lint.spark.steps import output_columns
from spark_rtm.lint.spark.streams import Query, Source
from spark_rtm.lint.spark.values import known, quoted, text_of

RULES = Rules()
ADD_UPDATE = 'add .outputMode("update")'
WRITE_UPDATE = 'write .outputMode("update")'
CHECKPOINT_CONF = "spark.sql.streaming.checkpointLocation"
OF_PACK = "rtm-kafka"
FILE_FORMATS = ("avro", "binaryfile", "csv", "json", "orc", "parquet", "text", "xml")
REFUSED_SOURCES = {
    **dict.fromkeys(FILE_FORMATS, BOTH),
    **dict.fromkeys(["cloudfiles", "delta", "deltasharing", "rate-micro-batch", "socket", "table"], BOTH),
    **dict.fromkeys(["eventhubs", "pubsub", "pulsar"], BOTH),  # use the Kafka connector for Event Hubs
    **dict.fromkeys(["kinesis", "rate"], OSS_ONLY),
    OF_PACK: DATABRICKS_ONLY,
}
CONNECTORS = (
    "bigquery", "cassandra", "clickhouse", "com.mongodb.spark.sql.defaultsource", "cosmos.oltp", "doris",
    "elasticsearch", "es", "hudi", "iceberg", "mongo", "mongodb", "net.snowflake.spark.snowflake",
    "org.apache.hadoop.hbase.spark", "org.apache.hudi", "org.apache.spark.sql.cassandra", "org.apache.spark.sql.redis",
    "org.elasticsearch.spark.sql", "org.neo4j.spark.datasource", "snowflake", "starrocks",
)  # fmt: skip
"""Sinks from other projects, which real-time mode of OSS does not support."""
REFUSED_SINKS = {
    **dict.fromkeys([*FILE_FORMATS, "cloudfiles", "delta", "jdbc", "memory", "rate", "socket"], BOTH),
    **dict.fromkeys(["eventhubs", "kinesis", "pubsub", "pulsar"], BOTH),
    **dict.fromkeys(["noop", "postgresql", "table", *CONNECTORS], OSS_ONLY),
}


@RULES.add("output-mode")
def output_mode(module: Module) -> Iterator[Problem]:
    """
    Checks for real-time queries whose output mode is missing or not `update`.

    Why: `append` (the default) and `complete` fail with STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED.

    Reported at: the call to `outputMode`, or to `start` if there is none.

    Example: writer.outputMode("append").trigger(realTime="5 minutes").start()
    Use instead: writer.outputMode("update").trigger(realTime="5 minutes").start()
    Source: [test], [guide]
    """
    consequence = "so the query fails with OUTPUT_MODE_NOT_SUPPORTED"
    with_mode = {query.start_line for query in module.queries if query.writer.mode}
    for query in module.real_time:
        writer = query.writer
        if writer.mode is None:
            if query.start_line and not writer.is_open:
                message = f"no output mode is set and the default is append, {consequence}"
                # An output mode at this call would also replace the mode that another branch sets.
                fix = ADD_UPDATE if query.start_line not in with_mode else f"{ADD_UPDATE} where the trigger is set"
                yield Problem(query.start_line, message, fix, lines=writer.lines)
            continue
        modes = [text for each in known(writer.mode[0]) if (text := text_of(each)) is not None]
        if modes and all(mode.lower() != "update" for mode in modes):
            message = f"the output mode is {quoted(modes[0])}, {consequence}"
            yield Problem(writer.mode[1], message, WRITE_UPDATE, lines=writer.lines)


@RULES.add("checkpoint")
def checkpoint(module: Module) -> Iterator[Problem]:
    """
    Checks for real-time queries that write to Kafka without a `checkpointLocation`.

    Why: The Kafka sink does not start without a checkpoint, and a restarted query could not resume where it stopped.

    Reported at: the call to `start`.

    Example: events.writeStream.format("kafka").outputMode("update").trigger(realTime="5 minutes").start()
    Use instead: writer.option("checkpointLocation", f"{checkpoints}/example").trigger(realTime="5 minutes").start()
    Source: [test]
    """
    if module.setting(CHECKPOINT_CONF):
        return
    for query in module.real_time:
        writer = query.writer
        if query.start_line and writer.is_kafka and not writer.is_open and "checkpointlocation" not in writer.options:
            message = "a query that writes to Kafka has no checkpointLocation, so the query does not start"
            fix = (
                'add .option("checkpointLocation", ...) with a folder that only this query uses and that outlives '
                "the job"
            )
            yield Problem(query.start_line, message, fix, lines=writer.lines)


@RULES.add("value-column", subject="query")
def value_column(query: Query) -> Iterator[Problem]:
    """
    Checks for real-time queries that write rows without a `value` column to Kafka.

    Why: The sink takes each record's value from this column. Without it, the query fails after it starts: Required
    attribute 'value' not found.

    Reported at: `writeStream`, if all columns of its rows are known.

    Example: events.select("key").writeStream
    Use instead: events.select("key", "value").writeStream
    Source: [test]
    """
    writer = query.writer
    columns = output_columns(writer.frame) if writer.is_kafka else None
    if columns is not None and "value" not in columns:
        shown = ", ".join(sorted(columns)) or "none"
        message = f"the rows have no column `value` (columns: {shown}), so the Kafka sink fails after the query starts"
        fix = 'name the payload `value`, for example with F.to_json(F.struct("*")).alias("value")'
        yield Problem(writer.line or query.start_line or 1, message, fix)


@RULES.add("source", subject="query")
def source(query: Query) -> Iterator[Problem]:
    """
    Checks for sources that real-time mode does not support.

    Why: Real-time mode reads sources row by row, which only some sources support.

    Both engines: files, tables, Delta, Auto Loader, sockets, `rate-micro-batch`, `pubsub`, `pulsar`, and `eventhubs`,
    whose Kafka endpoint you read instead. OSS reports INPUT_STREAM_NOT_SUPPORTED, or DATA_SOURCE_NOT_FOUND for a source
    that OSS lacks.
    OSS: `rate` and `kinesis`.
    Databricks: `rtm-kafka`, which exists only in this pack's jar for OSS.

    Reported at: the call to `format`, or to the method that names the format.

    Example: spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1)
    Use instead: spark.readStream.format("kafka")
    Source: [test], [reference]
    """
    for each in query.writer.frame.sources:
        if isinstance(each, Source) and each.name in REFUSED_SOURCES and query.writer.frame.is_streaming:
            message = f"real-time mode does not support the source {each.name!r}, so the query fails"
            fix = "read from Kafka, or use micro-batch mode for this query"
            if each.name == OF_PACK:
                message = f"the source {OF_PACK!r} exists only on OSS, so the query does not start"
                fix = "use the source 'kafka'; in Python, control.source_format() returns the source that exists"
            yield Problem(each.line, message, fix, REFUSED_SOURCES[each.name])


@RULES.add("sink", subject="query")
def sink(query: Query) -> Iterator[Problem]:
    """
    Checks for sinks that real-time mode does not support.

    Why: Real-time mode writes rows one by one, which only some sinks support.

    Both engines: files, Delta, `jdbc`, `memory`, `eventhubs`, `kinesis`, `pubsub`, `pulsar`. For `memory`, OSS reports
    OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.
    OSS: `noop`, `toTable`, connectors such as the one for Cassandra, and `postgresql` (Lakebase sink of Databricks).

    Reported at: the call to `format`, or to the method that names the sink.

    Example:
        events.writeStream.format("memory").queryName("rows").outputMode("update").trigger(realTime="5 minutes").start()
    Use instead: events.writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()
    Source: [test], [reference]
    """
    writer = query.writer
    if any(name in {"foreach", "foreachBatch"} for name, _ in writer.sinks):
        return
    if writer.format is None and query.start_line and "path" in writer.options and not writer.is_open:
        message = "no sink format is set, so Spark uses files, which real-time mode does not support"
        yield Problem(query.start_line, message, 'write .format("kafka") or .foreach(...)')
    elif writer.format is not None and writer.sink in REFUSED_SINKS:
        message = f"real-time mode does not support the sink {writer.sink!r}, so the query fails"
        fix = "write to Kafka or use foreach; write tables and files in a separate micro-batch query"
        yield Problem(writer.format[1], message, fix, REFUSED_SINKS[writer.sink])


@RULES.add("foreach-batch", subject="query")
def foreach_batch(query: Query) -> Iterator[Problem]:
    """
    Checks for `foreachBatch` in real-time queries.

    Why: Real-time mode does not deliver rows in batches. OSS reports OPERATOR_OR_SINK_NOT_IN_ALLOWLIST, Databricks
    SINK_NOT_SUPPORTED (third-party article).

    Reported at: the call to `foreachBatch`.

    Example: writer.foreachBatch(lambda rows, batch: None).trigger(realTime="5 minutes").start()
    Use instead: writer.foreach(lambda row: None).trigger(realTime="5 seconds").start()
    Source: [test], [reference], [third
    party](https://medium.com/@cralle/sub-second-latency-in-spark-real-time-mode-is-generally-available-d679f1d577fc)
    read 2026-11-20
    """
    for name, line in query.writer.sinks:
        if name == "foreachBatch":
            message = "real-time mode does not support foreachBatch, so the query fails"
            fix = "use foreach, or write to Kafka and run foreachBatch in a micro-batch query"
            yield Problem(line, message, fix)
