"""The linter over small files whose lines say what must be found, half of them look-alikes that stay silent."""

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
    """Yield line and rule of every mark in a case."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in EXPECT.finditer(line):
            yield from ((number, rule) for rule in match[1].split(", "))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CASES).as_posix())
def test_a_case_gives_its_marks_and_nothing_else(path: Path) -> None:
    """Every bad line is found with its rule, and no other line is reported."""
    text = path.read_text(encoding="utf-8")
    engine = ENGINE.search(text)

    found = lint_text(text, path.name, engine[1] if engine else None)

    assert set(expected(text)) == {(finding.line, finding.rule) for finding in found}


def test_the_corpus_is_large_and_half_of_it_stays_silent() -> None:
    """At least 150 files, half of them silent, and every rule is expected somewhere."""
    marks = {path: set(expected(path.read_text(encoding="utf-8"))) for path in FILES}
    silent = [path for path, found in marks.items() if not found]

    assert len(FILES) >= 150
    assert len(silent) >= 0.5 * len(FILES)
    assert {rule.id for rule in RULES} == {rule for found in marks.values() for _, rule in found}
