"""Case files whose lines are marked with the expected rules; half of the files must have no findings."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.lint.engine import RULES, lint_text

CASES = Path(__file__).with_name("cases")
EXPECT = re.compile(r"expect: ([a-z-]+(?:, [a-z-]+)*)")
ENGINE = re.compile(r"engine: (oss-4\.3|databricks)$", re.MULTILINE)
FILES = sorted(path for path in CASES.rglob("*") if path.is_file() and path.suffix != ".pyc")


def expected(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the rule of every mark in a case file."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in EXPECT.finditer(line):
            yield from ((number, rule) for rule in match[1].split(", "))


@pytest.mark.proves("lint cases")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CASES).as_posix())
def test_case_file_has_exactly_the_marked_findings(path: Path) -> None:
    """The linter reports every marked line with the marked rules, and no other line."""
    text = path.read_text(encoding="utf-8")
    engine = ENGINE.search(text)

    findings = lint_text(text, path.name, engine[1] if engine else None)

    assert set(expected(text)) == {(finding.line, finding.rule) for finding in findings}


def test_case_files_cover_all_rules_and_half_are_silent() -> None:
    """There are at least 150 case files, half of them without findings, and every rule is expected in one."""
    marks = {path: set(expected(path.read_text(encoding="utf-8"))) for path in FILES}
    silent = [path for path, findings in marks.items() if not findings]

    assert len(FILES) >= 150
    assert len(silent) >= 0.5 * len(FILES)
    assert {rule.id for rule in RULES} == {rule for findings in marks.values() for _, rule in findings}
