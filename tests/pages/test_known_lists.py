"""Each error in the lists of Spark, its Kafka connector, Kafka's client and PostgreSQL gets its own answer or none."""

import json
import re
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path

import psycopg.errors
import pytest
from pyspark.errors.error_classes import ERROR_CLASSES_MAP

from spark_rtm.commands.errors import find
from spark_rtm.services.packages import connector
from tests.pages.refusals import spark_templates

pytestmark = pytest.mark.services

STREAMS = re.compile(
    "STREAM|STATE_STORE|STATEFUL|STATE_RE|CHECKPOINT|WATERMARK|STDS|WITH_?STATE|EVENT_TIME|FOREACH|MICRO_?BATCH|"
    "LOG_FILE|LOG_VERSION|PIPELINED|KAFKA|CONTINUOUS|BATCH_METADATA|SLOT|ASYNC|_SINK_|TRIGGER|CONCURRENT_|ROCKSDB|APPEND_ONCE|"
    "DATA_SOURCE_(NOT|TABLE)|AVRO"
)
"""The words in the names of Spark's conditions about streams and state."""
TRACE = """py4j.protocol.Py4JJavaError: An error occurred while calling o52.start.
: java.util.concurrent.ExecutionException: {0}
\tat org.apache.spark.sql.execution.streaming.runtime.StreamExecution.run(StreamExecution.scala:349)
Caused by: {0}"""


def archived(name: str, jar: str) -> list[str] | str:
    (path,) = (path for path in connector().jars if path.name.startswith(jar))
    with zipfile.ZipFile(path) as archive:
        return archive.read(name).decode() if name else archive.namelist()


def conditions(content: dict[str, dict[str, object]], shape: str) -> dict[str, str]:
    """Return a text for each condition, and for its subconditions instead if it has some."""
    texts = {}
    for name, condition in content.items():
        parts = condition.get("subClass") or condition.get("sub_class") or {"": {"message": []}}
        for part, below in parts.items():  # type: ignore[attr-defined]
            message = re.sub(r"<\w+>", "17", " ".join([*condition["message"], *below["message"]]))  # type: ignore[misc]
            full = f"{name}.{part}".strip(".")
            texts[full] = shape.format(full, message, condition.get("sqlState", "XXKST"))
    return texts


@cache
def lists() -> dict[str, dict[str, str]]:
    """Return the texts of each list, in the shape in which people paste them, by the name of the error."""
    templates = spark_templates()
    parents = {name.partition(".")[0] for name in templates if "." in name}
    streams = [name for name in templates if STREAMS.search(name.partition(".")[0]) and name not in parents]
    spark = {name: f"[{name}] {re.sub(r'<.w+>', '17', templates[name])} SQLSTATE: XXKST" for name in streams}
    of_connector = json.loads(str(archived("error/kafka-error-conditions.json", "spark-sql-kafka")))
    package = "org/apache/kafka/common/errors/"
    files = [name for name in archived("", "kafka-clients") if name.startswith(package) and "$" not in name]
    classes = [Path(name).stem for name in files]
    of_client = {name: f"org.apache.kafka.common.errors.{name}: The request failed." for name in classes}
    states = [
        (name, each.sqlstate)
        for name, each in vars(psycopg.errors).items()
        if isinstance(getattr(each, "sqlstate", 0), str)
    ]
    return {
        "Spark": spark,
        "connector": conditions(of_connector, "[{0}] {1} SQLSTATE: {2}"),
        "client": of_client,
        "client in a trace": {name: TRACE.format(text) for name, text in of_client.items()},
        "psycopg": {name: f"psycopg.errors.{name}: the statement failed\nDETAIL:  17" for name, _ in states},
        "SQLSTATE": {state: f"org.postgresql.util.PSQLException: failed (SQLSTATE {state})" for _, state in states},
        "PySpark and Connect": conditions(ERROR_CLASSES_MAP, "[{0}] {1}"),
    }


def answer(name: str, text: str) -> str:
    found = find(text)
    if not found:
        return "not explained"
    first, parent = found[0], name.partition(".")[0]
    names = {name, parent, f"org.apache.kafka.common.errors.{name}", f"psycopg.errors.{name}", f"SQLSTATE {name}"}
    if names & {first.condition, *first.names, *first.messages}:
        return "own"
    is_of_family = first.family and any(re.fullmatch(first.family, each) for each in names)
    return "family" if is_of_family else f"wrong: {first.condition}"


@pytest.mark.parametrize(
    ("kind", "size", "explained"),
    [
        ("Spark", 188, 145),
        ("connector", 18, 17),
        ("client", 142, 37),
        ("client in a trace", 142, 37),
        ("psycopg", 250, 45),
        ("SQLSTATE", 250, 49),
        ("PySpark and Connect", 220, 12),
    ],
)
def test_error_of_a_list_never_gets_the_answer_of_another(kind: str, size: int, explained: int) -> None:
    answers = {name: answer(name, text) for name, text in lists()[kind].items()}

    assert len(answers) >= size
    assert {} == {name: found for name, found in answers.items() if found.startswith("wrong")}
    counts = Counter(answers.values())
    assert counts["own"] + counts["family"] >= explained, counts
