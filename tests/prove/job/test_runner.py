import json
import shutil
from pathlib import Path

import pytest

from spark_rtm.prove.engine import Bench
from spark_rtm.prove.job import runner, target
from spark_rtm.prove.job.recorders import Recording
from tests.prove.judge import JOBS

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]


def _record(bench: Bench, path: Path, **confs: str) -> Recording:
    recording = Recording(bench.spark.newSession(), bench.kafka, target.Job(path, confs=confs), 1)
    runner.record(recording)
    return recording


def test_job_gets_settings_and_imports_of_its_project(bench: Bench, tmp_path: Path) -> None:
    """The cluster's flag, settings with and without `--conf`, and relative imports work as in production."""
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "names.py").write_text("TOPIC = 'orders'\n")
    shutil.copyfile(JOBS / "settings.py.txt", package / "job.py")

    assert 1 == len(_record(bench, package / "job.py", **{"shop.topic": "orders"}).caught)


NOTEBOOK = (JOBS / "notebook_lines.py.txt").read_text()
NAMES = """# Databricks notebook source
# MAGIC %run ./servers
# COMMAND ----------
TOPIC = dbutils.widgets.get("topic")
with open("setup/topics.txt") as file:
    assert TOPIC == file.read()
"""


@pytest.mark.parametrize("kind", ["py", "ipynb"])
def test_usual_lines_of_a_notebook_do_not_stop_prove(kind: str, bench: Bench, tmp_path: Path) -> None:
    """Magic lines, other notebooks, `dbutils`, `display`, and files of the project work as on Databricks."""
    folder = tmp_path / "setup"
    folder.mkdir()
    (folder / "names.py").write_text(NAMES)
    (folder / "servers.py").write_text("servers = dbutils.secrets.get('kafka', 'servers')\n")
    (folder / "topics.txt").write_text("usual")
    path = tmp_path / f"job.{kind}"
    cells = NOTEBOOK.replace("# MAGIC ", "").split("# COMMAND ----------\n")
    sources = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    path.write_text(NOTEBOOK if kind == "py" else json.dumps({"cells": sources}, indent=1))

    caught = _record(bench, path).caught

    assert ["console", "kafka"] == [query.sink for query in caught]
    assert {"realTime='5 minutes'"} == {query.trigger for query in caught}
    lines = enumerate(path.read_text().splitlines(), 1)
    assert [query.line for query in caught] == [
        n for n, line in lines if "display(stream, real" in line or ".start()" in line
    ]
