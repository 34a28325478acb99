"""The commands of `references/testing.md` create a project whose test passes, and fails when the job is broken."""

import os
import subprocess
from pathlib import Path

import pytest

from scripts.pack import files
from scripts.text import markdown

pytestmark = [pytest.mark.spark, pytest.mark.services]

SHELL = next(
    fence.code
    for fence in markdown.fences((files.ROOT / "references/testing.md").read_text(encoding="utf-8"))
    if "cat > job.py" in fence.code
)


def _run(folder: Path, commands: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" and "PYTEST" not in name}
    return subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder,
        env={**kept, "SKILL": str(files.ROOT)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.mark.timeout(240)
def test_new_project_passes_and_fails_when_its_job_is_broken(tmp_path: Path) -> None:
    """A `cast` in place of `try_cast` makes the five-line test fail with the condition and the line of the job."""
    good = _run(tmp_path, SHELL)
    job = tmp_path / "job.py"
    job.write_text(job.read_text().replace("try_cast", "cast"))
    *_, command = SHELL.strip().splitlines()
    broken = _run(tmp_path, command)

    assert "1 passed" in good.stdout, good.stdout + good.stderr
    assert (0, 1) == (good.returncode, broken.returncode)
    line = 1 + next(n for n, text in enumerate(job.read_text().splitlines()) if "cast(" in text)
    assert "CAST_INVALID_INPUT" in broken.stdout
    assert f"job.py:{line}" in broken.stdout
