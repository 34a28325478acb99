"""Python workers of the driver connect to Spark in time, however slow their imports are."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from spark_rtm.services.spark import WORKER_START

QUERY_SECONDS = 100
# PySpark imports this module of the standard library. The folder comes before the standard library on the path.
SLOW_MODULE = "pstats.py"
SLOW_IMPORT = f"""
import os, sysconfig, time
if "PYTHON_WORKER_FACTORY_PORT" in os.environ:
    time.sleep(12)
file = os.path.join(sysconfig.get_path("stdlib"), "{SLOW_MODULE}")
exec(compile(open(file).read(), file, "exec"))
"""

pytestmark = [pytest.mark.spark, pytest.mark.timeout(200)]


class Echo(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        """Create no state."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
        yield from rows


@pytest.fixture
def slow_imports(tmp_path: Path) -> str:
    """Return a folder that slows a worker's imports to twelve seconds; Spark allows ten."""
    (tmp_path / SLOW_MODULE).write_text(SLOW_IMPORT)
    return str(tmp_path)


def run_processor(spark: SparkSession, folder: Path) -> None:
    """Run a query with a Python processor until it has read everything."""
    (folder / "source").mkdir()
    (folder / "source/rows.json").write_text('{"key": "a"}\n')
    rows = spark.readStream.schema("key string").json(str(folder / "source")).groupBy("key")
    echo = rows.transformWithState(Echo(), "key string", "update", "none")
    writer = echo.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(folder / "state"))
    query = writer.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(QUERY_SECONDS)
    finally:
        query.stop()


def test_worker_with_slow_imports_connects_in_time(
    spark: SparkSession, slow_imports: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query runs, because `build_session` lets the worker connect before its imports."""
    environment = spark.sparkContext.environment
    monkeypatch.setitem(environment, "PYTHONPATH", os.pathsep.join([environment["PYTHONPATH"], slow_imports]))

    run_processor(spark, tmp_path)


def test_program_of_a_worker_needs_no_connection(tmp_path: Path) -> None:
    """A program inherits a worker's variables; it runs without Spark, and a hidden `sitecustomize` still runs."""
    (tmp_path / "sitecustomize.py").write_text("print('hidden')\n")
    path = os.pathsep.join([str(WORKER_START), str(tmp_path)])
    # No program can listen on port 0.
    variables = {"PYTHONPATH": path, "PYTHON_WORKER_FACTORY_PORT": "0", "PYTHON_WORKER_FACTORY_SECRET": "secret"}

    done = subprocess.run(
        [sys.executable, "-c", "print('program')"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert ("hidden\nprogram\n", "") == (done.stdout, done.stderr)
