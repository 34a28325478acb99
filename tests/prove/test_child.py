import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.pack import files
from spark_rtm.cli import RTM
from spark_rtm.prove.child import examined
from spark_rtm.prove.job.runner import lost
from spark_rtm.prove.records.samples import read_samples

STUCK = """\
while True:
    try:
        pass
    except BaseException:
        pass
"""
LIMITED = """\
from spark_rtm.prove.job import runner

runner.limit_seconds = 0.2
with runner._limited():
    exec(compile(open("job.py").read(), "/shop/job.py", "exec"))
"""


def test_job_that_catches_everything_ends_at_its_limit(tmp_path: Path) -> None:
    """A retry around everything cannot keep `prove` alive; the log of the process has the line."""
    (tmp_path / "job.py").write_text(STUCK)
    command, env = [sys.executable, "-c", LIMITED], {**os.environ, "PYTHONPATH": str(files.ROOT)}

    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=60)

    assert 1 == done.returncode
    reason = lost(done.stderr, "src/job.py", done.returncode)
    assert re.match(
        r"src/job\.py:[1-5]: the job was still running after 300 s and did not wait for a query; prove", reason
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--rate", "inf"), "--rate: use a finite number above 0"),
        (("--only", "everything"), "--only everything: use some of lint,login,slots"),
        (("--conf", "x"), "--conf x: write KEY=VALUE"),
        (("--samples", "orders=orders.jsonl"), "--samples orders=orders.jsonl: write NAME=FILE.jsonl; NAME is rows"),
    ],
)
def test_wrong_option_is_named_before_a_server_starts(option: tuple[str, str], message: str, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("def f(rows): ...")
    words = ["prove", f"{tmp_path}/job.py:f", *option]

    with pytest.raises(ValueError, match=message):
        examined(RTM.parsed(words)[1])


def test_sample_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    (tmp_path / "deep.jsonl").write_text("[" * 100_000)

    with pytest.raises(ValueError, match="has a record that is nested too deeply"):
        read_samples(tmp_path / "deep.jsonl")
