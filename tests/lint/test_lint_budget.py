import pytest

from spark_rtm.lint.engine import lint_text
from spark_rtm.lint.rules.budget import MAX_STEPS, MIN_STEPS, ExhaustedError, Steps, steps_for


def test_limit_grows_with_the_length_of_the_code_up_to_a_maximum() -> None:
    """A thousand short files cannot take a thousand times as long as a long one."""
    assert [MIN_STEPS, MIN_STEPS + 1000, MAX_STEPS] == [steps_for("x" * length).left for length in (0, 100, 2_000_000)]


def test_steps_end_exactly_at_their_limit() -> None:
    steps = Steps(3)
    steps.spend(2)
    steps.spend()

    with pytest.raises(ExhaustedError):
        steps.spend()


def test_exhausted_steps_keep_the_findings_before() -> None:
    lines = ["w.writeStream.trigger(realTime=True)", "f0 = lambda: 1"]
    lines += [f"f{n} = lambda: [{f'f{n - 1}(), ' * 40}]" for n in range(1, 9)]

    findings = lint_text("\n".join([*lines, "f8()", "w.writeStream.trigger(realTime=True)"]), "job.py")

    assert [(1, "trigger-duration"), (11, "unchecked")] == [(finding.line, finding.rule) for finding in findings]
