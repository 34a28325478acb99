"""Rules about complete jobs: settings and paths that work in a trial but not in production."""

import re
from collections.abc import Iterator

from spark_rtm.lint.problem import Problem
from spark_rtm.lint.rules.rule import OSS_ONLY, Rules
from spark_rtm.lint.rules.source import CHECKPOINT_CONF
from spark_rtm.lint.spark.intervals import interval_ms
from spark_rtm.lint.spark.module import Module
from spark_rtm.lint.spark.steps import output_columns, stateful_steps
from spark_rtm.lint.spark.streams import Deletion, Query
from spark_rtm.lint.spark.values import Unknown, Value, alternatives, as_text, plain, quoted, template_of, texts_of

RULES = Rules()
SHUFFLE_CONF = "spark.sql.shuffle.partitions"
MAX_PARTITIONS = 127
"""Maximum number of shuffle partitions, more than the task slots of most real-time clusters. Spark's default is 200."""
MAX_FOREACH_MS = 10_000
CONNECTOR = re.compile(r"spark-sql-kafka-0-10_2\.1[23]:(?P<version>\d{1,2}\.\d{1,2})\b")
ALWAYS = re.compile(r"exists|is_?dir|__name__|\bls\(", re.IGNORECASE)
"""Pattern for conditions that express no decision to start over: a folder exists, or the module is the program."""
TEMPORARY = re.compile(r"(?:file:/*|dbfs:/*|/dbfs/)?/?(?:tmp|temp|var/tmp|local_disk0/tmp)(?:/|$)", re.IGNORECASE)
ABSOLUTE = re.compile(r"/|\\\\|[A-Za-z][\w+.-]*:|\0|[$<{~]")


@RULES.add("shuffle-partitions", severity="warning")
def shuffle_partitions(module: Module) -> Iterator[Problem]:
    """
    Checks for jobs with stateful real-time queries that set many shuffle partitions, or do not set their number.

    Why: Each stateful operator needs one task slot per shuffle partition (default 200), or the query does not start.

    Reported at: the number if it is at least 128 or at least the N of `local[N]`; without a number, the first stateful
    operator.

    Example:
        spark.conf.set("spark.sql.shuffle.partitions", "200")
        events.groupBy("key").count()
    Use instead:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        events.groupBy("key").count()
    Source: [test], [setup]
    """
    queries = [query for query in module.real_time if stateful_steps(query.writer.frame)]
    if not (queries or module.is_for_real_time):
        return
    limit = min(MAX_PARTITIONS, module.local_slots - 1) if module.local_slots else MAX_PARTITIONS
    settings = [each for each in module.settings if each.key == SHUFFLE_CONF]
    for each in settings:
        text = as_text(each.value) or ""
        is_concerned = not queries or any(map(each.concerns, queries))
        if is_concerned and text.isdecimal() and int(text[:9]) > limit:
            message = f"{SHUFFLE_CONF} is {text[:9]}, and each partition occupies a task slot for the whole batch"
            yield Problem(
                each.line, message, "set it to the number of task slots that the stateful stages can use, for example 8"
            )
    if not settings and module.is_job and not any(SHUFFLE_CONF in line for line in module.lines):
        for query in queries:
            if query.start_line:
                message = "the stateful query has 200 shuffle partitions by default, and each needs a task slot"
                line = stateful_steps(query.writer.frame)[0].line
                # Code that builds no session gets its settings from the cluster or from another file.
                severity = "warning" if module.builds_session else "information"
                fix = (
                    f'set "{SHUFFLE_CONF}" to the number of task slots that the stateful stages can use, for example 8'
                )
                yield Problem(line, message, fix, severity=severity, lines=query.writer.lines)


@RULES.add("checkpoint-path", severity="warning")
def checkpoint_path(module: Module) -> Iterator[Problem]:
    """
    Checks for jobs whose real-time queries store their checkpoint in a temporary folder or at a relative path.

    Why: If the folder is deleted, or the job starts in another folder, the query restarts without its state.
    In notebooks, which are often trials, the severity is `information`.

    Reported at: the path, even in a dictionary.

    Example: writer.option("checkpointLocation", "checkpoints/example").trigger(realTime="5 minutes").start()
    Use instead: writer.option("checkpointLocation", f"{checkpoints}/example").trigger(realTime="5 minutes").start()
    Source: [restarts](restarts.md#keep-queries-running)
    """
    if not module.is_job or module.is_test:
        return
    severity = "information" if module.is_notebook else ""
    places = [entry for query in module.real_time if (entry := query.writer.options.get("checkpointlocation"))]
    if any(not (query.writer.is_open or "checkpointlocation" in query.writer.options) for query in module.real_time):
        places += [(setting.value, setting.line) for setting in module.settings if setting.key == CHECKPOINT_CONF]
    for value, line in places:
        for problem in {_path_problem(each) for each in alternatives(value)} - {""}:
            fix = "use an absolute path on storage that outlives the job, and read the path from the job's settings"
            yield Problem(line, f"the checkpoint {problem}, so the query can lose its state", fix, severity=severity)


@RULES.add("connector-version", OSS_ONLY, "warning")
def connector_version(module: Module) -> Iterator[Problem]:
    """
    Checks for Kafka connectors that are older than real-time mode.

    Why: The trigger exists in Python from Spark 4.2. Connector 4.2.0 also runs on Spark 4.3.0,
    which has no published connector.

    Reported at: the version.

    Example:
        spark.conf.get("spark.jars.packages", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.0")
    Use instead:
        spark.conf.get("spark.jars.packages", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0")
    Source: [guide], [features](runtimes.md#open-source-spark)
    """
    places = [(line, number) for number, line in enumerate(module.lines, 1)]
    known = {match[0] for line, _ in places if (match := CONNECTOR.search(line))}
    settings = [(text or "", line) for text, line in module.setting("spark.jars.packages")]
    places += [place for place in settings if known.isdisjoint(match[0] for match in CONNECTOR.finditer(place[0]))]
    for line, number in places if module.real_time else ():
        match = CONNECTOR.search(line)
        version = tuple(map(int, match["version"].split("."))) if match else (9, 9)
        if match and version < (4, 2) and not line.lstrip().startswith(("#", "//")):
            message = f"the connector is for Spark {match['version']}, but the real-time trigger needs 4.2"
            yield Problem(number, message, "use Spark 4.3.0 with connector 4.2.0, for which the tests of this pack ran")


@RULES.add("checkpoint-deleted", severity="warning")
def checkpoint_deleted(module: Module) -> Iterator[Problem]:
    """
    Checks for jobs that delete the checkpoint of a real-time query before they start the query.

    Why: The query then starts without state. With `startingOffsets=latest`, the default, it skips the records that
    have arrived since the last run. With `earliest`, it writes all results again.

    Reported at: the call that deletes the folder, except below a condition such as `if args.reset:`.

    Example:
        dbutils.fs.rm(checkpoints, True)
        writer.option("checkpointLocation", checkpoints).trigger(realTime="5 minutes").start()
    Use instead: writer.option("checkpointLocation", checkpoints).trigger(realTime="5 minutes").start()
    Source: [restarts](restarts.md#keep-queries-running)
    """
    for each in module.deletions if not module.is_test else ():
        conditions = {test for test in each.tests if not ALWAYS.search(test)}
        queries = [query for query in module.queries[each.first : each.end] if query in module.real_time]
        # A condition expresses a decision to start over, unless the query has the same condition.
        queries = [query for query in queries if conditions <= query.path.keys()]
        if any(_deletes(each, query) for query in queries):
            message = "the job deletes its own checkpoint, so it starts without state, and skips or repeats records"
            yield Problem(each.line, message, "delete the folder manually if the query must start without state")


def _deletes(deletion: Deletion, query: Query) -> bool:
    value, _ = query.writer.options.get("checkpointlocation", (None, 0))
    if value is None or value is deletion.path:
        return value is not None
    # Equal strings with unknown parts, such as f"{base}/checkpoint", refer to the same folder.
    texts = [template_of(each) for each in (value, deletion.path)]
    paths = [text.strip("\0").rstrip("/") and text.rstrip("/") for text in texts]
    return all(paths) and (paths[0] == paths[1] or paths[0].startswith(f"{paths[1]}/"))


def _path_problem(value: Value) -> str:
    if isinstance(value, Unknown):
        return "is in a temporary folder" if value.origin.startswith("tempfile.") else ""
    path = template_of(value)
    if not path:
        return ""
    shown = quoted(path.replace("\0", "..."))
    if TEMPORARY.match(path) and not path.startswith(("tmp:", "temp:")):
        return f"{shown} is in a temporary folder"
    return "" if ABSOLUTE.match(path) else f"{shown} is at a relative path"


@RULES.add("kafka-columns", severity="warning")
def kafka_columns(module: Module) -> Iterator[Problem]:
    """
    Checks for jobs that write the rows of a Kafka source to Kafka without selecting columns.

    Why: The source adds the `partition` and `topic` columns, and the sink reads both. Each record goes to the partition
    with the number of its source partition, which may not exist in the target topic. Without the `topic` option, the
    record goes back to the source topic.

    Reported at: `writeStream`.

    Example: rows.writeStream
    Use instead: rows.select("key", "value").writeStream
    Source: [columns](kafka_patterns.md#keys-headers-and-formats)
    """
    for query in module.real_time if module.is_job else ():
        writer = query.writer
        named = [texts_of(value) for step in query.steps("withColumn") for value in step.arguments.positional[:1]]
        is_kept = "partition" in (output_columns(writer.frame) or ()) and ["partition"] not in named
        if query.start_line and writer.is_kafka and is_kept:
            back = "" if "topic" in writer.options or writer.is_open else " and `topic`"
            message = f"the rows contain the source's `partition`{back}, so the sink writes records to that partition"
            fix = 'write .select("key", "value") before .writeStream'
            yield Problem(writer.line or query.start_line, message, fix, lines=writer.lines)


@RULES.add("foreach-interval", OSS_ONLY, "warning", subject="query")
def foreach_interval(query: Query) -> Iterator[Problem]:
    """
    Checks for Python `foreach` in real-time queries with an interval of more than 10 seconds.

    Why: Spark passes rows to Python in growing chunks, and passes the last chunk only when the batch ends. A row can
    therefore be delayed by a whole interval. The Databricks documentation mentions no such delay.

    Reported at: the call to `foreach`, only in Python. Scala and Java have no such delay.

    Example: writer.foreach(lambda row: None).trigger(realTime="5 minutes").start()
    Use instead: writer.foreach(lambda row: None).trigger(realTime="5 seconds").start()
    Source: [sinks](sources_sinks_operators.md#sinks-and-output-modes)
    """
    trigger = query.writer.trigger
    for name, line in query.writer.sinks if trigger and query.start_line else ():
        for text in texts_of(trigger.value("realTime")) if trigger and name == "foreach" else ():
            length = interval_ms(text)
            if isinstance(length, float) and length > MAX_FOREACH_MS:
                message = (
                    "Python receives the last rows of a batch only when the batch ends, so they can arrive "
                    f"{plain(text)} late"
                )
                fix = 'write to Kafka, or use a short interval such as "5 seconds"'
                yield Problem(line, message, fix)
