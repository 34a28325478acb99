"""
Complete programs that contain the one-line examples of the lint rules.

Each rule about code has a bad and a good program that differ only in what the rule checks.
"""

import re
from dataclasses import dataclass

from spark_rtm.lint.engine import RULES
from spark_rtm.lint.rules.job import RULES as JOB_RULES

ALLOWLIST = "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"
CONDITIONS = {
    "trigger-duration": "VALUE_NOT_NON_EMPTY_STR",
    "trigger-form": "TypeError",
    "trigger-interval": "INVALID_INTERVAL_FORMAT.INVALID_UNIT",
    "trigger-several": "ONLY_ALLOW_SINGLE_TRIGGER",
    "output-mode": "STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED",
    "checkpoint": "AnalysisException",
    "source": "STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED",
    "sink": ALLOWLIST,
    "foreach-batch": ALLOWLIST,
    "stream-join": "LeftOuter join between two streaming DataFrames/Datasets is not supported",
    "static-join": ALLOWLIST,
    "session-window": "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
    "dedup-within-watermark": ALLOWLIST,
    "legacy-state": ALLOWLIST,
    "python-udf": ALLOWLIST,
    "map-in-pandas": ALLOWLIST,
    "python-state": "STDS_FAILED_TO_READ_OPERATOR_METADATA",
    "union-self": "STREAMING_REAL_TIME_MODE.IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED",
    "union-after-state": "STREAMING_REAL_TIME_MODE.STATEFUL_OPERATORS_BEFORE_UNION_NOT_SUPPORTED",
    "sort-or-coalesce": "Sorting is not supported on streaming DataFrames",
    "option": "maxOffsetsPerTrigger is not compatible with real time mode",
    "setting": "STREAMING_REAL_TIME_MODE.SQL_CONFIGURATION_NOT_SUPPORTED",
    "async-trigger": "Async progress tracking cannot be used with AvailableNow trigger",
    "async-state": "Stateful streaming queries does not support async progress tracking",
    "async-interval": "STREAMING_REAL_TIME_MODE.ASYNC_PROGRESS_TRACKING_CHECKPOINTING_INTERVAL_NON_ZERO",
    "continuous-operator": "Continuous processing does not support Aggregate operations",
    "foreach-writer-import": "ImportError",
    "shuffle-partitions": "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT",
    "value-column": "Required attribute 'value' not found",
}
"""The error of a rule's bad program on OSS 4.3.0: an error condition, an exception, or a part of its text."""
RUNNING = {"event-time-timer", "flag-in-session", "frozen-clock", "checkpoint-path", "kafka-columns",
           "foreach-interval", "pipeline-flow", "option-name", "unknown-setting", "check-off", "shuffle-manager",
           "continuous-trigger", "checkpoint-deleted", "connector-version"}  # fmt: skip
"""Rules whose bad program runs on OSS 4.3.0."""
JOB = """from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
"""
"""The beginning of a complete job: some rules are silent in excerpts."""
PROCESSOR = """
class Counter(StatefulProcessor):
    def init(self, handle):
        self.count = handle.getValueState("count", "n long")

    def handleInputRows(self, key, rows, timerValues):
        yield Row(key=key[0])

    def close(self):
        pass

"""
OPENING = """
{imports}{processor}
def read(topic):
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "{servers}")
    return source.option("subscribe", topic).load()


rows = read("{topic}")
events = rows.select("key", "value")
events_2 = read("{topic}").select("key", "value")
users = spark.createDataFrame([(b"a", 1)], "key binary, level int")
checkpoints = "{checkpoint}"
writer = (
    events.writeStream.format("kafka")
    .option("kafka.bootstrap.servers", "{servers}")
    .option("topic", "{target}")
    .option("checkpointLocation", "{checkpoint}")
    .outputMode("update")
)
"""
SINK = (
    '.format("kafka").option("kafka.bootstrap.servers", "{servers}").option("topic", "{target}")'
    '.option("checkpointLocation", "{checkpoint}").outputMode("update")'
)
REAL_TIME = '.trigger(realTime="5 minutes")'
PLACEHOLDERS = {"servers": "127.0.0.1:1", "topic": "events", "target": "results", "checkpoint": "/checkpoints/example"}


@dataclass(frozen=True)
class Program:
    rule: str
    bad: str
    good: str
    condition: str | None


def programs(values: dict[str, str] = PLACEHOLDERS) -> list[Program]:
    """Return the programs of all rules about code, with values for the placeholders in `PLACEHOLDERS`."""
    rules = [rule for rule in RULES if rule.subject == "module"]
    found = []
    for rule in rules:
        opening = JOB if rule in JOB_RULES else ""
        bad, good = (opening + program_of(example, values) for example in (rule.example, rule.use_instead))
        found.append(Program(rule.id, bad, good, CONDITIONS.get(rule.id)))
    return found


def program_of(example: str, values: dict[str, str]) -> str:
    is_stateful = "..." in example
    imports = "from pyspark.sql import Row\nfrom pyspark.sql import functions as F\n"
    imports += "from pyspark.sql.streaming import StatefulProcessor\n\n" if is_stateful else ""
    opening = OPENING.replace("{imports}", imports).replace("{processor}", PROCESSOR if is_stateful else "")
    text = (opening + completed(example.replace("(...", "(Counter()"))).lstrip("\n")
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def completed(line: str) -> str:
    """Return an example with the missing parts: the load of a source, the sink, the trigger, the start."""
    if line.startswith("@"):
        return f"from pyspark import pipelines as dp\n\n\n{line}\n"
    *settings, line = line.splitlines() if line.startswith(("spark.conf.", "dbutils.", "#")) else [line]
    if settings:
        return "\n".join([*settings, completed(line)])
    line = "".join(part.strip() for part in line.splitlines())
    if ".start()" in line:
        return f"query = {line}\n"
    if ".conf." in line or line.startswith(("from ", "import ")):
        return f"{line}\nquery = writer{REAL_TIME}.start()\n"
    if re.fullmatch(r"spark\.readStream[^\n]*", line):
        kafka = (
            '.option("kafka.bootstrap.servers", "{servers}").option("subscribe", "{topic}")' if "kafka" in line else ""
        )
        line = f"{line}{kafka}.load()"
    if line == "rows.writeStream" or line.startswith("rows.select"):
        return f"query = {line}{SINK}{REAL_TIME}.start()\n"
    if ".writeStream" not in line:
        line = f'{line}.selectExpr("to_json(struct(*)) AS value").writeStream'
    return f"query = {line}{SINK}{'' if '.trigger(' in line else REAL_TIME}.start()\n"
