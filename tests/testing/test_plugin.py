"""The commands of `references/testing.md` create a project whose test passes, and fails when the job is broken."""

import os
import subprocess
from pathlib import Path

import pytest

from scripts.pack import files
from spark_rtm.text import markdown

pytestmark = [pytest.mark.spark, pytest.mark.services]

SHELL = next(
    fence.code
    for fence in markdown.fences((files.ROOT / "references/testing.md").read_text(encoding="utf-8"))
    if "cat > job.py" in fence.code
)


def _run(folder: Path, kafka: str, commands: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" and "PYTEST" not in name}
    return subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder,
        env={**kept, "SKILL": str(files.ROOT), "KAFKA_BOOTSTRAP_SERVERS": kafka},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


BREAK = "sed s/try_cast/cast/ job.py > broken.py; sed 's/from job/from broken/' test_job.py > test_broken.py"


@pytest.mark.timeout(240)
def test_new_project_passes_and_fails_when_its_job_is_broken(kafka: str, tmp_path: Path) -> None:
    """A `cast` instead of `try_cast` makes a test of `run_real_time` fail with the condition and the line."""
    *files_of_project, run = SHELL.strip().splitlines()

    done = _run(tmp_path, kafka, "\n".join([*files_of_project, BREAK, f"{run} -rA"]))

    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "PASSED test_job.py::test_payments_are_routed" in done.stdout
    assert 1 == done.returncode
    broken = (tmp_path / "broken.py").read_text()
    line = 1 + next(n for n, text in enumerate(broken.splitlines()) if "cast(" in text)
    assert "CAST_INVALID_INPUT" in done.stdout
    assert f"broken.py:{line}" in done.stdout
