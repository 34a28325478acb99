"""Hostile inputs: the linter needs little time and memory for each, and reports what it did not check."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from spark_rtm.lint.engine import lint_text
from tests.lint.stress import INPUTS, MAX_SECONDS

# The inputs need about 20 s of processor time, so they can take minutes on a busy machine.
MAX_WAIT_SECONDS = 280
pytestmark = pytest.mark.timeout(MAX_WAIT_SECONDS + 20)
ROOT = Path(__file__).parents[2]
TRIGGER = "w.writeStream.trigger(realTime=True)"
INCOMPLETE = {
    "lambdas.py": "too many paths",
    "chain-of-operators.py": "too many paths",
    "chain-of-options.py": "too many paths",
    "conditions.py": "too many paths",
    "too-dense-code.py": "more than 600,000 words",
    "file-ignore-comments.py": "more than 600,000 words",
    "blank-lines.py": "more than 600,000 words",
    "many-values.json": "more than 400,000 keys",
}
"""The inputs that are not checked to the end, and a part of the reason that is reported."""


@pytest.fixture(scope="module")
def results() -> dict[str, tuple[float, list[str]]]:
    """Return the seconds and the reasons of each input, from a process with 500 MB of memory."""
    command = [sys.executable, "-m", "tests.lint.stress"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=MAX_WAIT_SECONDS, check=False)
    assert not run.stderr
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    return {name: (seconds, reasons) for name, seconds, reasons in lines}


@pytest.mark.parametrize("name", INPUTS)
def test_hostile_input_needs_little_time_and_memory(name: str, results: dict[str, tuple[float, list[str]]]) -> None:
    """Each input takes at most 5 s and 500 MB, and the linter reports whether it was checked to the end."""
    seconds, reasons = results[name]

    assert MAX_SECONDS >= seconds
    assert (name in INCOMPLETE) == bool(reasons)
    assert all(INCOMPLETE[name] in reason for reason in reasons)


@pytest.mark.parametrize(
    ("before", "line", "after", "name", "count"),
    [
        ("", TRIGGER, "", "job.py", 40_000),
        ("```python\n", TRIGGER, "```\n", "page.md", 4000),
        ("", f"Use `{TRIGGER}`.", "", "page.md", 40_000),
        ("", f"Use `{TRIGGER}` and", "", "page.md", 4000),
        ("| a | b |\n|---|---|\n", f"| Use | `{TRIGGER}` |", "", "page.md", 4000),
    ],
    ids=["code", "fence", "sentences", "one-sentence", "table"],
)
def test_each_of_many_wrong_triggers_is_found(before: str, line: str, after: str, name: str, count: int) -> None:
    """Each of up to 40,000 equal lines with a wrong trigger has a finding with the number of that line."""
    findings = lint_text(f"{before}{line}\n" + f"{line}\n" * (count - 1) + after, name)

    first_line = before.count("\n") + 1
    lines = [finding.line for finding in findings if finding.rule == "trigger-duration"]
    assert list(range(first_line, first_line + count)) == lines
