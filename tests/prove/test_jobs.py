"""`prove` returns the verdicts that the comments in each file of `jobs` describe (see `JobFile`)."""

import logging
import re
import shlex
from pathlib import Path

import pytest

from spark_rtm.prove.engine import Bench
from spark_rtm.prove.job import runner, target
from spark_rtm.prove.job.recorders import Recording
from spark_rtm.prove.job.runner import JobLostError
from spark_rtm.prove.query import topics_of
from spark_rtm.prove.verdicts import GOOD
from tests.prove.judge import JOBS, JobFile, Judge, is_expected, job_files

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

FILES = job_files()


def _with(key: str) -> pytest.MarkDecorator:
    found = [file for file in FILES if file.header(key)]
    return pytest.mark.parametrize("file", found, ids=[file.name for file in found])


@_with("checks")
def test_job_gets_the_expected_verdicts(file: JobFile, judge: Judge) -> None:
    arguments, side_effects = shlex.split(file.header("arguments")), bool(file.header("side effects"))
    job = judge.load(file.code, file.header("function"), arguments=arguments, side_effects=side_effects)

    verdicts = judge(job, *file.header("checks").split(", "), **file.options())

    missing = [mark for mark in file.marks() if not any(is_expected(mark, verdict) for verdict in verdicts)]
    others = [one for one in verdicts if one.status != GOOD and not any(is_expected(m, one) for m in file.marks())]
    assert ([], []) == (missing, others), [verdict.text for verdict in verdicts]
    assert sorted(verdict.text for verdict in verdicts) == sorted(verdict.text for verdict in judge.shown)
    assert ["job.py"] == [path.name for path in judge.path.parent.iterdir() if path.is_file()]


@_with("stops")
def test_stop_is_not_a_fault_of_the_job(file: JobFile, judge: Judge) -> None:
    """A job that ends early is not blamed; earlier verdicts are shown, and the message names a remedy."""
    with pytest.raises((JobLostError, target.TargetError), match=re.escape(file.header("stops"))):
        judge(file.code, "lint", "mode", *file.header("run").split())

    assert "lint" == judge.shown[0].check
    assert [] == [verdict for verdict in judge.shown if verdict.check != "lint" and verdict.status != GOOD]


@_with("recorded")
def test_what_production_has_does_not_stop_a_job(
    file: JobFile, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job's clients, tables and catalogs are missing here, and a loop that polls a query ends the run."""
    monkeypatch.chdir(bench.folder)
    (tmp_path / "job.py").write_text(file.code)
    for folder in ("checkpoint", "logs"):
        (tmp_path / folder).mkdir()
    recording = Recording(bench.spark.newSession(), bench.kafka, target.Job(tmp_path / "job.py"), 1)

    runner.record(recording)

    assert recording.topics == topics_of(recording.caught[0].frame)
    found = f"{len(recording.caught)} of {' '.join(recording.topics)}"
    found += "".join(f", missing {' '.join(recording.missing)}" for _ in recording.missing and [1])
    found += "".join(f", absent {table}" for table in recording.absent)
    assert file.header("recorded") == found
    assert ["checkpoint", "job.py", "logs"] == sorted({path.name for path in tmp_path.iterdir()} - {"prove"})
    assert not list((tmp_path / "logs").iterdir())
    assert 1 != logging.getLogger().level


def test_queries_for_debugging_come_last_and_one_can_be_chosen(judge: Judge) -> None:
    code = (JOBS / "three_queries.py.txt").read_text()

    judge(code, "slots")
    every, judge.shown = [one.evidence[:7] for one in judge.shown if one.check == "slots"], []
    for query in ("passed", "11"):
        judge(code, "slots", query=query)

    assert ["query 2", "query 3", "query 1"] == every
    assert ["query 3", "query 2"] == [one.evidence[:7] for one in judge.shown if one.check == "slots"]
    with pytest.raises(
        JobLostError,
        match="--query absent: the job does not start this query; use one of these lines or names: 8 shown, 11",
    ):
        judge(code, "slots", query="absent")
