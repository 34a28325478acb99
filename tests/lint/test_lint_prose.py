"""The rules about prose: exact on the cases on which they were developed, precise on cases they have not seen."""

from collections import Counter

import pytest

from tests.lint.prose_cases import DEVELOPMENT, SOURCES, UNSEEN, Case, all_cases, score

MISSED = {"g-runbook-scale"}
"""Cases of the development half with wrong advice that the linter does not find."""
SEEN = [case for case in all_cases() if case.half == DEVELOPMENT]
HELD_OUT = [case for case in all_cases() if case.half == UNSEEN]
MIN_PRECISION = 0.95
MIN_RECALL = 0.5
KINDS = {"table", "faq", "bullet", "sentence", "quote", "cell", "comment", "docstring"}


@pytest.mark.proves("prose cases")
@pytest.mark.parametrize("case", SEEN, ids=lambda case: case.name)
def test_prose_case_has_exactly_the_marked_findings(case: Case) -> None:
    """The linter reports every marked line with the marked rules, and no other line."""
    assert (frozenset() if case.name in MISSED else case.expected) == case.found()


def test_unseen_prose_is_judged_precisely() -> None:
    """On cases on which no rule was developed, nearly all findings are right, and half of the faults are found."""
    result = score(HELD_OUT)

    assert result.precision >= MIN_PRECISION
    assert result.recall >= MIN_RECALL


def test_cell_is_judged_alike_in_both_forms_of_notebooks() -> None:
    """A Markdown cell has the same findings in an `.ipynb` file and in an exported Databricks notebook."""
    cells = [case for case in all_cases() if case.kind == "cell"]

    assert {case.name: case.found_in_notebook() for case in cells} == {
        case.name: case.found_in_export() for case in cells
    }


def test_half_of_the_prose_cases_are_look_alikes_of_every_kind() -> None:
    """There are at least 150 cases, at least half of them without wrong advice, and each kind has both."""
    cases = all_cases()
    silent = [case for case in cases if not case.expected]

    assert len(cases) >= 150
    assert len(silent) >= 0.5 * len(cases)
    assert KINDS == {case.kind for case in silent} == {case.kind for case in cases if case.expected}
    assert set(SOURCES) >= {case.source for case in cases}
    assert [name for name, count in Counter(case.name for case in cases).items() if count > 1] == []


def test_mark_of_a_case_is_hidden_from_the_linter() -> None:
    """The comments that mark the expected findings are not part of the text that is linted."""
    assert [case.name for case in all_cases() if "expect:" in case.text] == []
