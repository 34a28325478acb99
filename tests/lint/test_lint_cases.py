"""Cases with marks for the expected rules; half of them must have no findings."""

import re
from collections.abc import Iterator
from functools import cache

import pytest

from spark_rtm.lint.engine import RULES, lint_text
from spark_rtm.lint.rules.rule import LABELS, UNCHECKED
from spark_rtm.text.finding import DATABRICKS, Finding
from tests.lint.case_files import cases_of_rules

EXPECT = re.compile(r"expect: ([a-z-]+(?:, [a-z-]+)*)")
ENGINE = re.compile(r"engine: (oss-4\.3|databricks)$", re.MULTILINE)
CASES = cases_of_rules()


@cache
def findings_in(case: str, engine: str | None) -> tuple[Finding, ...]:
    return tuple(lint_text(CASES[case], case.rpartition("/")[2], engine))


def expected(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        for match in EXPECT.finditer(line):
            yield from ((number, rule) for rule in match[1].split(", "))


@pytest.mark.proves("lint cases")
@pytest.mark.parametrize("case", CASES)
def test_case_has_exactly_the_marked_findings(case: str) -> None:
    text = CASES[case]
    engine = ENGINE.search(text)

    findings = findings_in(case, engine[1] if engine else None)

    assert set(expected(text)) == {(finding.line, finding.rule) for finding in findings}


def test_cases_cover_all_rules_and_half_are_silent() -> None:
    """There are at least 400 cases, half of them without findings, and every rule is expected in one."""
    marks = {case: set(expected(text)) for case, text in CASES.items()}
    silent = [case for case, findings in marks.items() if not findings]

    assert len(CASES) >= 400
    assert len(silent) >= 0.5 * len(CASES)
    assert {UNCHECKED.id, *(rule.id for rule in RULES)} == {r for findings in marks.values() for _, r in findings}


def test_rules_document_the_engines_of_their_findings() -> None:
    """A rule's section states the findings on both engines, on OSS only and on Databricks only."""
    found = {(finding.rule, LABELS[finding.engine]) for case in CASES for finding in findings_in(case, None)}
    found.discard((UNCHECKED.id, LABELS[UNCHECKED.engines]))

    assert {(rule.id, label) for rule in RULES for label in rule.cases} == found


def test_finding_on_databricks_names_no_condition_of_oss() -> None:
    names = ("OPERATOR_OR_SINK_NOT_IN_ALLOWLIST", "STATEFUL_OPERATORS_BEFORE_UNION_NOT_SUPPORTED")
    cases = [case for case in CASES if case.endswith(".py")]

    findings = [finding for case in cases for finding in findings_in(case, None) if DATABRICKS in finding.engine]
    messages = {finding.message for finding in findings}

    assert {message for message in messages for name in names if name in message} == set()


def test_phrases_in_prose_are_warnings() -> None:
    claims = [case for case in CASES if case.startswith("claim-")]

    assert {"warning"} == {finding.severity for case in claims for finding in findings_in(case, None)}
