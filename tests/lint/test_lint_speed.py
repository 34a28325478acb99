import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from spark_rtm.lint.processes import MIN_FILES, in_processes
from spark_rtm.text.finding import Finding
from tests.lint.case_files import cases_of_rules
from tests.lint.unseen.measure import cases

ROOT = Path(__file__).parents[2]
MAX_CPU_SECONDS = 4.0
"""Two cores for two seconds. The test counts processor time, because other tests run at the same time."""
OTHER_TOPICS = [path for path in (ROOT / "spark_rtm").rglob("*.py") if "lint" not in path.parts]


def test_thousand_files_take_two_seconds_on_two_cores(tmp_path: Path) -> None:
    """Half of the files concern real-time mode; all of them are found to be as right or wrong as one by one."""
    rng = random.Random(1)
    jobs = [*cases("python").values(), *[text for name, text in cases_of_rules().items() if name.endswith(".py")]]
    for number in range(500):
        (tmp_path / f"job{number}.py").write_text(rng.choice(jobs))
        (tmp_path / f"other{number}.py").write_text(rng.choice(OTHER_TOPICS).read_text())
    before = os.times()

    run = subprocess.run(
        [sys.executable, "scripts/skills.py", "lint", "--statistics", tmp_path],
        capture_output=True, text=True, check=False, timeout=100, cwd=ROOT,
    )  # fmt: skip

    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    assert not run.stderr
    assert run.stdout.count("\n") > 10
    assert seconds <= MAX_CPU_SECONDS


def test_processes_find_the_same_as_one(tmp_path: Path) -> None:
    for number, (name, text) in enumerate(cases("python").items()):
        for copy in range(3):
            (tmp_path / f"{number}_{copy}_{name}").write_text(text)
    program = "import sys; from spark_rtm.lint.engine import lint_paths; "
    program += "print([lint_paths([sys.argv[1]], processes=n) for n in (1, 2)])"
    run = subprocess.run(
        [sys.executable, "-c", f"{program}", tmp_path],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
        cwd=ROOT,
    )
    first, second = eval(run.stdout, {"Finding": lambda **fields: tuple(fields.items())})

    assert first
    assert first == second


def _checked(path: Path) -> list[Finding]:
    if path.stem == "20":
        os.kill(os.getpid(), signal.SIGKILL)
    return [Finding(path.name, 1, "checked", "", "")]


def _lost(path: Path) -> list[Finding]:
    return [Finding(path.name, 1, "lost", "", "")]


def test_file_whose_process_ends_is_named_and_the_others_are_checked() -> None:
    """A process without memory takes only its file with it; this process, which would end in the same way, goes on."""
    paths = [Path(f"{number}.py") for number in range(MIN_FILES)]

    found = [finding for findings in in_processes(_checked, _lost, paths, 2) for finding in findings]

    assert {path.name: "lost" if path.stem == "20" else "checked" for path in paths} == {
        finding.path: finding.rule for finding in found
    }
