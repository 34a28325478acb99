"""Rules about output mode, columns and a missing checkpoint. `job.py` checks the path of the checkpoint."""

from collections.abc import Iterator

from spark_rtm.lint.rules.rule import Module, Problem, Rules
from spark_rtm.lint.spark.steps import output_columns
from spark_rtm.lint.spark.streams import Query
from spark_rtm.lint.spark.values import known, quoted, text_of

WRITER_RULES = Rules()
ADD_UPDATE = 'add .outputMode("update")'
CHECKPOINT_CONF = "spark.sql.streaming.checkpointLocation"


@WRITER_RULES.add("output-mode", subject="query")
def output_mode(query: Query) -> Iterator[Problem]:
    """
    Checks for real-time queries whose output mode is missing or not `update`.

    Why: `append` (the default) and `complete` fail with STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED.

    Reported at: the call to `outputMode`, or to `start` if there is none.

    Example:
        writer.outputMode("append").trigger(realTime="5 minutes").start()
    Use instead:
        writer.outputMode("update").trigger(realTime="5 minutes").start()
    Source: [test], [guide]
    """
    consequence = "so the query fails with OUTPUT_MODE_NOT_SUPPORTED"
    writer = query.writer
    if writer.mode is None:
        if query.start_line and not writer.is_open:
            message = f"no output mode is set and the default is append, {consequence}"
            yield Problem(query.start_line, message, ADD_UPDATE)
        return
    modes = [text for each in known(writer.mode[0]) if (text := text_of(each)) is not None]
    if modes and all(mode.lower() != "update" for mode in modes):
        message = f"the output mode is {quoted(modes[0])}, {consequence}"
        yield Problem(writer.mode[1], message, 'write .outputMode("update")')


@WRITER_RULES.add("checkpoint")
def checkpoint(module: Module) -> Iterator[Problem]:
    """
    Checks for real-time queries that write to Kafka without a `checkpointLocation`.

    Why: The Kafka sink does not start without a checkpoint, and a restarted query could not resume where it stopped.

    Reported at: the call to `start`.

    Example:
        events.writeStream.format("kafka").outputMode("update").trigger(realTime="5 minutes").start()
    Use instead:
        writer.option("checkpointLocation", f"{checkpoints}/example").trigger(realTime="5 minutes").start()
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


@WRITER_RULES.add("value-column", subject="query")
def value_column(query: Query) -> Iterator[Problem]:
    """
    Checks for real-time queries that write rows without a column `value` to Kafka.

    Why: The sink takes the payload from it. The query fails after it starts: Required attribute 'value' not found.

    Reported at: `writeStream`, if all columns of its rows are known.

    Example:
        events.select("key").writeStream
    Use instead:
        events.select("key", "value").writeStream
    Source: [test]
    """
    writer = query.writer
    columns = output_columns(writer.frame) if writer.is_kafka else None
    if columns is not None and "value" not in columns:
        shown = ", ".join(sorted(columns)) or "none"
        message = f"the rows have no column `value` (columns: {shown}), so the Kafka sink fails after the start"
        fix = 'name the payload `value`, for example with F.to_json(F.struct("*")).alias("value")'
        yield Problem(writer.line or query.start_line or 1, message, fix)
