import os
import random
import subprocess
import sys
from pathlib import Path

from tests.lint.case_files import cases_of_rules
from tests.lint.unseen.measure import cases

ROOT = Path(__file__).parents[2]
MAX_CPU_SECONDS = 4.0
"""The test counts processor time, because other tests run at the same time."""
OTHER_TOPICS = [path for path in (ROOT / "spark_rtm").rglob("*.py") if "lint" not in path.parts]


def test_thousand_files_take_four_seconds_of_processor_time(tmp_path: Path) -> None:
    """Half of the files concern real-time mode."""
    rng = random.Random(1)
    jobs = [*cases("python").values(), *[text for name, text in cases_of_rules().items() if name.endswith(".py")]]
    for number in range(500):
        (tmp_path / f"job{number}.py").write_text(rng.choice(jobs))
        (tmp_path / f"other{number}.py").write_text(rng.choice(OTHER_TOPICS).read_text())
    before = os.times()

    run = subprocess.run(
        [sys.executable, "scripts/skills.py", "lint", "--format", "github", tmp_path],
        capture_output=True, text=True, check=False, timeout=100, cwd=ROOT,
    )  # fmt: skip

    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    assert not run.stderr
    assert run.stdout.count("\n") > 10
    assert seconds <= MAX_CPU_SECONDS
