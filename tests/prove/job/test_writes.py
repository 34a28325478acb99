"""A job writes nothing through Spark, in each of the ways of its file, unless `--side-effects` allows it."""

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_rtm.prove.job import runner
from spark_rtm.prove.job.recorders import Recording
from spark_rtm.prove.job.target import Job

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

CODE = Path(__file__).parent.with_name("jobs") / "writes.py.txt"
WAYS = re.findall(r'^way\("(.*?)".*?(?:  # (\w+))?$', CODE.read_text(), re.MULTILINE)


@dataclass(frozen=True)
class Attempt:
    """What a run of the job changed, and the lines that `prove` skipped."""

    changed: Mapping[str, bool | str]
    skipped: Mapping[int, str]


@pytest.fixture(scope="module", params=[False, True], ids=["default", "side effects"])
def attempt(
    request: pytest.FixtureRequest, spark: SparkSession, kafka: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Attempt]:
    folder = tmp_path_factory.mktemp("writes")
    place, path, result = folder / "place", folder / "job.py", folder / "result.json"
    for name in ("kept", "moved"):
        (place / name).mkdir(parents=True)
    url = f"jdbc:derby:memory:{folder.name}"
    java = spark._jvm.java  # type: ignore[union-attr]  # noqa: SLF001 - not public
    java.lang.System.setProperty("derby.stream.error.file", str(folder / "derby.log"))
    connection = java.sql.DriverManager.getConnection(f"{url};create=true")
    for table in ("T", "T2"):
        connection.createStatement().execute(f"create table app.{table} (A varchar(9))")
    connection.createStatement().execute("insert into app.T values ('x')")
    for name in ("shop", "old"):
        spark.sql(f"create database {name} location '{place / name}'")
        for table in ("orders", "lines"):
            spark.sql(f"create table {name}.{table} using parquet as select 'x' as value")
    names = {"PLACE": str(place), "RESULT": str(result), "jdbc:derby:memory:shop": url}
    path.write_text(functools.reduce(lambda text, name: text.replace(name, names[name]), names, CODE.read_text()))
    recording = Recording(spark.newSession(), kafka, Job(path, side_effects=request.param), 1)
    try:
        runner.record(recording)
        yield Attempt(json.loads(result.read_text()), {line: written for written, line in recording.skipped})
    finally:
        for name in ("shop", "old", "stock"):
            spark.sql(f"drop database if exists {name} cascade")
        connection.close()


@pytest.mark.parametrize(("name", "note"), WAYS, ids=[name for name, _ in WAYS])
def test_job_writes_only_with_side_effects(
    name: str, note: str, attempt: Attempt, request: pytest.FixtureRequest
) -> None:
    lines = CODE.read_text().splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if text.startswith(f'way("{name}", ')]
    if request.node.callspec.params["attempt"]:
        # The engine refuses some ways, which need a package, but the job still tries them.
        assert attempt.changed[name] is True or note == "refused", attempt.changed[name]
        return

    assert attempt.changed[name] is False
    assert (line in attempt.skipped) != (note == "elsewhere")


def test_catalog_of_the_job_is_not_configured(attempt: Attempt, request: pytest.FixtureRequest) -> None:
    assert bool(attempt.changed["built"]) == request.node.callspec.params["attempt"]


def test_statement_of_the_session_runs(attempt: Attempt) -> None:
    """Temporary views, settings and functions change nothing outside, so none of their lines is skipped."""
    (first,) = [n for n, text in enumerate(CODE.read_text().splitlines(), 1) if text.startswith("for text in")]

    assert {} == {line: written for line, written in attempt.skipped.items() if line in range(first, first + 3)}
