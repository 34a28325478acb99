"""
`prove` judges each file of `jobs` whose first line names checks.

A comment `# expect: STATUS CHECK TEXT` is at the line of each verdict that is not good.
"""

import re
from pathlib import Path

import pytest

from spark_rtm.prove.verdicts.verdict import GOOD
from tests.prove.judge import Judge

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

JOBS = {path: checks[1] for path in sorted(Path(__file__).with_name("jobs").iterdir())
        if (checks := re.match("# checks: (.+)", path.read_text()))}  # fmt: skip


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.name.partition(".")[0])
def test_job_gets_the_expected_verdicts(path: Path, judge: Judge) -> None:
    code = path.read_text()
    marks = [(n, mark[1], mark[2], mark[3]) for n, line in enumerate(code.splitlines(), 1)
             if (mark := re.search(r"# expect: (\w+) (\w+) (.+)", line))]  # fmt: skip

    found = [verdict for verdict in judge(code, *JOBS[path].split(", ")) if verdict.line or verdict.status != GOOD]

    assert [mark[:3] for mark in marks] == [(one.line, one.status, one.check) for one in found if one.line], found
    assert all(mark[3] in one.evidence for mark, one in zip(marks, [one for one in found if one.line], strict=True))
