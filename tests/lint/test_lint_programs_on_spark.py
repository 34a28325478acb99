"""The example programs of the lint rules on real Spark: the bad ones fail as declared, the good ones run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.lint.spark.known_settings import NAMES
from spark_rtm.realtime.proof import assert_real_time
from tests.helpers import eventually, new_topic, produce
from tests.lint.programs import Program, programs

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(120)]

PROGRAMS = {program.rule: program for program in programs()}
REFUSED = [rule for rule, program in PROGRAMS.items() if program.condition]
ON_DATABRICKS = {"event-time-timer", "pipeline-flow"}
ACCEPTED = list({program.good: rule for rule, program in PROGRAMS.items() if rule not in ON_DATABRICKS}.values())
"""One rule for each good program that runs on OSS."""
SETTINGS = (
    "spark.sql.streaming.stateStore.checkpointFormatVersion",
    "spark.databricks.streaming.realTimeMode.enabled",
    "spark.sql.shuffle.partitions",
    "spark.sql.streaming.realTimeMode.allowlistCheck",
)
STATIC = {"streamingQueryListeners", "ui.enabled", "ui.enabledCustomMetricList", "ui.retainedProgressUpdates",
          "ui.retainedQueries"}  # fmt: skip
"""Settings that Spark lists only after it has loaded the class that defines them."""
NOT_REAL_TIME = {"async-trigger", "continuous-operator"}


@pytest.fixture(scope="module")
def topics(kafka: str) -> dict[str, str]:
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    produce(kafka, source, [(0, b"value")])
    return {"servers": kafka, "topic": source, "target": target}


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    before = {key: spark.conf.get(key, None) for key in SETTINGS}
    yield spark
    for key, value in before.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)


def program_for(rule: str, topics: dict[str, str], folder: Path) -> Program:
    values = {**topics, "checkpoint": str(folder / "checkpoint")}
    return next(program for program in programs(values) if program.rule == rule)


def run_program(text: str, spark: SparkSession) -> StreamingQuery:
    names: dict[str, object] = {"spark": spark, "__name__": "__main__"}
    exec(compile(text, "program", "exec"), names)
    query = names["query"]
    assert isinstance(query, StreamingQuery)
    return query


@pytest.mark.proves("lint programs run")
@pytest.mark.parametrize("rule", REFUSED)
def test_spark_refuses_the_bad_program(
    rule: str, session: SparkSession, topics: dict[str, str], tmp_path: Path
) -> None:
    program = program_for(rule, topics, tmp_path)

    try:
        query = run_program(program.bad, session)
    except Exception as error:  # noqa: BLE001  # the text of the error is compared below
        message = f"{type(error).__name__}: {error}"
    else:
        message = str(eventually(query.exception, 60, "the end of the query"))

    assert str(program.condition) in message


@pytest.mark.proves("lint programs run")
@pytest.mark.parametrize("rule", ACCEPTED)
def test_spark_runs_the_good_program(rule: str, session: SparkSession, topics: dict[str, str], tmp_path: Path) -> None:
    """The good program starts, in real-time mode unless the rule is about another mode."""
    query = run_program(program_for(rule, topics, tmp_path).good, session)

    if rule in NOT_REAL_TIME:
        assert query.exception() is None
    else:
        assert_real_time(query)
    query.stop()


def test_linter_knows_the_streaming_settings_of_the_engine(spark: SparkSession) -> None:
    jvm: Any = spark._jvm  # noqa: SLF001 - PySpark lists only the documented settings
    entries = getattr(getattr(jvm.org.apache.spark.sql.internal, "SQLConf$"), "MODULE$").getConfigEntries().iterator()
    names = set()
    while entries.hasNext():
        names.add(entries.next().key())
    prefix = "spark.sql.streaming."
    # Spark reads the class of the file manager from the settings of Hadoop, and lists the key nowhere.
    listed = {name.removeprefix(prefix) for name in names if name.startswith(prefix)} | {"checkpointFileManagerClass"}

    assert listed - STATIC == set(NAMES.split()) - STATIC
