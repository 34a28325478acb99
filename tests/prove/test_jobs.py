"""
`prove` judges each file of `jobs` whose first line names checks.

A comment `# expect: STATUS CHECK TEXT` is at the line of each verdict that is not good.
"""

import re
from pathlib import Path

import pytest

from spark_rtm.prove.job.runner import JobLostError
from tests.prove.judge import Judge

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

JOBS = {path: checks[1] for path in sorted(Path(__file__).with_name("jobs").iterdir())
        if (checks := re.match("# checks: (.+)", path.read_text()))}  # fmt: skip


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.name.partition(".")[0])
def test_job_gets_the_expected_verdicts(path: Path, judge: Judge) -> None:
    code = path.read_text()
    marks = [
        (n, status, check, text)
        for n, line in enumerate(code.splitlines(), 1)
        for status, check, text in re.findall(r"# expect: (\w+) (\w+) ([^#]*\w)", line)
    ]

    found = [verdict for verdict in judge(code, *JOBS[path].split(", ")) if verdict.line]

    assert [mark[:3] for mark in marks] == [(one.line, one.status, one.check) for one in found], found
    assert all(text in one.evidence for (_, _, _, text), one in zip(marks, found, strict=True)), found


def test_queries_for_debugging_come_last_and_one_can_be_chosen(judge: Judge) -> None:
    code = (Path(__file__).with_name("jobs") / "three_queries.py.txt").read_text()

    judge(code, "slots")
    every, judge.shown = [one.evidence[:7] for one in judge.shown if one.check == "slots"], []
    for query in ("passed", "10"):
        judge(code, "slots", query=query)

    assert ["query 2", "query 3", "query 1"] == every
    assert ["query 3", "query 2"] == [one.evidence[:7] for one in judge.shown if one.check == "slots"]
    with pytest.raises(
        JobLostError, match="--query absent: the job has no such query; its lines and names are 8 shown, 10"
    ):
        judge(code, "slots", query="absent")
