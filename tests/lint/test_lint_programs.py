"""For each rule, the linter reports only this rule in the bad example, and nothing in the good example."""

import re

import pytest

from spark_rtm.lint.engine import RULES, lint_text
from spark_rtm.lint.rules.rule import CITATIONS, Rule
from tests.lint.programs import CONDITIONS, RUNNING, Program, programs

SUFFIXES = {"page": ".md", "cluster": ".json"}


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.rule)
def test_example_program_violates_only_its_own_rule(program: Program) -> None:
    for engine in next(rule.engines for rule in RULES if rule.id == program.rule):
        assert {program.rule} == {finding.rule for finding in lint_text(program.bad, "bad.py", engine)}
        assert [] == lint_text(program.good, "good.py", engine)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.subject != "module"], ids=lambda rule: rule.id)
def test_example_text_violates_only_its_own_rule(rule: Rule) -> None:
    path = f"example{SUFFIXES[rule.subject]}"

    assert {rule.id} == {finding.rule for finding in lint_text(rule.example, path)}
    assert [] == lint_text(rule.use_instead, path)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_section_contains_all_parts_of_its_docstring(rule: Rule) -> None:
    """A rule's section shows its subject, which begins with "Checks for", its reason, engines and evidence."""
    assert all(part in rule.explanation() for part in (rule.id, rule.what, rule.why, *rule.cases.values()))
    assert rule.what.startswith("Checks for ")
    assert rule.what.endswith(".")
    assert rule.source.startswith("[")
    assert set(rule.definitions) <= {f"[{label}]: {source}" for label, source in CITATIONS.items()}


def test_public_source_of_a_rule_has_the_date_of_reading() -> None:
    public = {label: source for label, source in CITATIONS.items() if label != "test"}

    assert all(re.fullmatch(r'https://\S+ "read 2026-\d\d-\d\d"', source) for source in public.values())


def test_every_code_rule_declares_its_error_on_spark() -> None:
    assert CONDITIONS.keys() | RUNNING == {rule.id for rule in RULES if rule.subject == "module"}


@pytest.mark.parametrize(
    ("interval", "written"),
    [("5000 ms", "5 seconds"), ("5m", "5 minutes"), ("90 s", "90 seconds"), ("2h", "2 hours"), ("60s", "1 minute"),
     ("500 ms", "5 minutes"), ("soon", "5 minutes")],
)  # fmt: skip
def test_remedy_for_an_interval_writes_it_out(interval: str, written: str) -> None:
    """The remedy for an interval below OSS's minimum is a commonly used interval."""
    code = f'df.writeStream.outputMode("update").trigger(realTime="{interval}")'

    (finding,) = lint_text(code, "job.py")
    assert f'write realTime="{written}"' == finding.fix
