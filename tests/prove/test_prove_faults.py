"""`prove` names each fault of a copied job with its line, condition and fix, and no fault in the original."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from scripts.pack import files
from spark_rtm.prove.job import target
from spark_rtm.prove.verdicts.verdict import CHECKS, GOOD, WRONG, Verdict
from spark_rtm.testing.records import as_sent
from tests.prove.judge import Judge, line_of

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

ORIGINAL = files.ROOT / "examples/alerts/payments_to_flagged.py"
FUNCTION = "payments_to_flagged"


@dataclass(frozen=True)
class Fault:
    right: str
    wrong: str
    check: str
    condition: str
    """Part of the evidence."""
    fix: str
    """Part of the fix."""
    line_of: str = ""
    """Text of the expected line; empty if the verdict names the function."""


UDF = Fault(
    'key=F.col("record.card")',
    'key=F.udf(str.upper)(F.col("record.card"))',
    "mode",
    "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST",
    "replace the Python function with SQL functions",
    "F.udf(str.upper)",
)
"""Prevents the start of the query, so it hides other faults."""

FAULTS = {
    "row without a topic": Fault('.otherwise("payments-flagged")', "", "input", "null topic", "give every row a topic"),
    "records that vanish": Fault(
        "decode(payments, PAYMENTS,",
        'decode(payments.where("value is not null and length(value) > 0").where(HARMLESS), PAYMENTS,',
        "input",
        "are dropped without a trace: a null value, an empty value",
        "reject topic",
    ),
    "ANSI cast": Fault(
        "HARMLESS",
        "\n        F.coalesce(\n"
        "            F.get_json_object(F.col('value').cast('string'), '$.amount_cents').cast('long') > 0, F.lit(True)\n"
        "        )\n    ",
        "input",
        "CAST_INVALID_INPUT",
        "try_cast",
        ".cast('long')",
    ),
    "password in the plan": Fault(
        "decoded = decode(",
        'password = "geheim-0815"\n'
        '    payments = payments.where(F.coalesce(F.col("key").cast("string"), F.lit("")) != password)\n'
        "    decoded = decode(",
        "secrets",
        "the code contains a password or token, and Spark prints it in the plan and Spark's log",
        "secret store",
        'password = "geheim-0815"',
    ),
}
"""Faults that do not hide each other, in one copy."""


def broken_copy(folder: Path, *faults: Fault) -> Path:
    text = ORIGINAL.read_text(encoding="utf-8")
    for fault in faults:
        assert fault.right in text
        text = text.replace(fault.right, fault.wrong, 1)
    path = folder / "payments.py"
    path.write_text(text, encoding="utf-8")
    return path


def _load(path: Path) -> target.Target | target.Job:
    return target.load(f"{path}:{FUNCTION}")


def test_job_of_the_repository_gets_only_good_verdicts(judge: Judge) -> None:
    # Other tests check flow and state, and the test of the command kills a query.
    checks = [check for check in CHECKS if check not in {"expect", "login", "flow", "state", "restart"}]
    verdicts = judge(_load(ORIGINAL), *checks)

    assert [] == [verdict.text for verdict in verdicts if verdict.status != GOOD]
    assert checks == [verdict.check for verdict in verdicts]


def test_python_function_is_named_with_line_condition_and_fix(judge: Judge, tmp_path: Path) -> None:
    path = broken_copy(tmp_path, UDF)

    assert_named(UDF, path, judge(_load(path), "mode"))


def test_several_faults_are_named_separately(judge: Judge, tmp_path: Path) -> None:
    """One fault does not hide another, and a topic outside `--topics` is named, too."""
    path = broken_copy(tmp_path, *FAULTS.values())
    # With a rule for the countries of the samples, only hostile payments are flagged.
    rules = [as_sent((country, {"limit_cents": 10_000})) for country in ("a1", "a2")]
    checks = {fault.check for fault in FAULTS.values()} | {"topics"}
    log = tmp_path / "spark.log"
    log.write_text("password geheim-0815")
    judge.bench = replace(judge.bench, log=log)

    verdicts = judge(_load(path), *checks, samples={"rules": rules}, topics=("payments-passed", "payments-flagged"))

    for fault in FAULTS.values():
        assert_named(fault, path, verdicts)
    (topics,) = [verdict for verdict in verdicts if verdict.check == "topics"]
    assert (WRONG, line_of(path, '"payments-rejected"')) == (topics.status, topics.line)
    assert "UnknownTopicOrPartitionException: payments-rejected is used" in topics.evidence
    assert "create the topic" in topics.fix


def assert_named(fault: Fault, path: Path, verdicts: list[Verdict]) -> None:
    found = [v for v in verdicts if v.check == fault.check and v.status == WRONG and fault.condition in v.evidence]
    assert found, "\n".join(verdict.text for verdict in verdicts)
    assert fault.fix in found[0].fix
    assert (str(path), line_of(path, fault.line_of or f"def {FUNCTION}")) == (found[0].path, found[0].line)
    assert found[0].page.startswith("references/")


def test_too_few_slots_are_named_and_hide_no_other_check(judge: Judge) -> None:
    verdicts = judge(_load(ORIGINAL), "slots", "flow", slots=1)

    (slots,) = [verdict for verdict in verdicts if verdict.check == "slots"]
    assert (WRONG, line_of(ORIGINAL, f"def {FUNCTION}")) == (slots.status, slots.line)
    assert "2 task slots needed (2 for the source), 1 available, so some partitions are never read" in slots.evidence
    assert "good" == next(verdict.status for verdict in verdicts if verdict.check == "flow")
