"""Many equal mistakes: the linter finds each of them. `tests/hostile` has the inputs of `stress.py`."""

import pytest

from spark_rtm.lint.engine import lint_text

TRIGGER = "w.writeStream.trigger(realTime=True)"


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
