"""
`prove` judges each file of `jobs` whose first line names checks.

A comment `# expect: STATUS CHECK TEXT` is at the line of each verdict that is not good.
"""

import re
from pathlib import Path

import pytest

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
