"""The example of every rule: the linter finds just that rule in the bad one and nothing in the good one."""

import pytest

from scripts.lint.engine import RULES, lint_text
from scripts.lint.rules.rule import Rule
from tests.lint.programs import CONDITIONS, Program, programs

SUFFIXES = {"page": ".md", "cluster": ".json"}


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.rule)
def test_the_example_of_a_rule_shows_that_rule_alone(program: Program) -> None:
    """The wrong program has exactly the rule's findings, the right one has none, on every engine of the rule."""
    engines = next(rule.engines for rule in RULES if rule.id == program.rule)
    engine = engines[0]

    assert {program.rule} == {finding.rule for finding in lint_text(program.bad, "bad.py", engine)}
    assert [] == lint_text(program.good, "good.py", engine)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.subject != "module"], ids=lambda rule: rule.id)
def test_the_example_of_a_claim_or_a_cluster_shows_that_rule_alone(rule: Rule) -> None:
    """The wrong text has exactly the rule's findings, the right one has none."""
    path = f"example{SUFFIXES[rule.subject]}"

    assert {rule.id} == {finding.rule for finding in lint_text(rule.example, path)}
    assert [] == lint_text(rule.use_instead, path)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_documents_all_that_its_section_needs(rule: Rule) -> None:
    """What, why, example, use instead and a dated source stand in the docstring, and the section shows them."""
    section = rule.section()

    assert section.startswith(f"## {rule.id}\n")
    assert all(part in section for part in (rule.what, rule.why[1:], rule.source))
    assert rule.what.endswith(".")
    assert rule.source.startswith("https://")
    assert rule.source[-10:].startswith("2026-")


def test_every_rule_about_code_says_what_spark_gives() -> None:
    """No rule lacks its condition, and no condition lacks its rule."""
    assert set(CONDITIONS) == {rule.id for rule in RULES if rule.subject == "module"}
