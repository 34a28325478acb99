from pathlib import Path

import pytest

from spark_rtm.lint.engine import RULES, lint_paths, lint_text
from spark_rtm.text.finding import DATABRICKS, OSS

ROOT = Path(__file__).parents[2]
BAD = 'spark.readStream.format("kafka").load().writeStream.format("console").outputMode("update")'
BAD += ".trigger(realTime=True).start()\n"


def test_minimum_duration_of_one_file_applies_to_all_files(tmp_path: Path) -> None:
    """One module often builds the session of all."""
    job = BAD.replace("True", '"1 second"')
    (tmp_path / "job.py").write_text(job)
    assert ["trigger-interval"] == [finding.rule for finding in lint_paths([tmp_path])]

    setting = 'spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")\n'
    (tmp_path / "session.py").write_text(setting)

    assert [] == lint_paths([tmp_path])


@pytest.mark.parametrize(
    ("engine", "expected"), [(OSS, ["python-state"]), (DATABRICKS, ["event-time-timer"]), (None, None)]
)
def test_findings_are_limited_to_the_chosen_engine(engine: str | None, expected: list[str] | None) -> None:
    """Python state fails only on OSS and event-time timers only on Databricks; without an engine both are reported."""
    text = 'spark.readStream.format("kafka").load().groupBy("key")'
    text += '.transformWithState(p, "key int", "update", "EventTime").writeStream.format("console")'
    text += '.outputMode("update").trigger(realTime="5 minutes").start()\n'

    rules = [finding.rule for finding in lint_text(text, "job.py", engine)]

    assert (expected or ["event-time-timer", "python-state"]) == rules


def test_own_examples_and_scripts_have_no_findings() -> None:
    assert [] == lint_paths([ROOT / "examples", ROOT / "scripts"])


def test_rule_ids_of_the_linter_are_unique() -> None:
    assert len(RULES) == len({rule.id for rule in RULES})


def test_rule_about_code_or_clusters_states_its_line() -> None:
    assert [] == [rule.id for rule in RULES if rule.subject != "page" and not rule.reported_at]


def test_exhausted_steps_keep_the_findings_before() -> None:
    lines = ["w.writeStream.trigger(realTime=True)", "f0 = lambda: 1"]
    lines += [f"f{n} = lambda: [{f'f{n - 1}(), ' * 40}]" for n in range(1, 9)]

    findings = lint_text("\n".join([*lines, "f8()", "w.writeStream.trigger(realTime=True)"]), "job.py")

    assert [(1, "trigger-duration"), (11, "unchecked")] == [(finding.line, finding.rule) for finding in findings]
