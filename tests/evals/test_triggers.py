import pytest

from evals.grading import grade
from evals.items import Trigger

YES, NO = Trigger("yes", "lower the latency", should_trigger=True), Trigger("no", "plot a file", should_trigger=False)


@pytest.mark.parametrize(
    ("trigger", "reply", "is_right"),
    [
        (YES, "ANSWER: spark-real-time-mode", True),
        (YES, "ANSWER: `spark-real-time-mode`.", True),
        (YES, "ANSWER: flink-jobs", False),
        (NO, "ANSWER: none", True),
        (NO, "ANSWER: spark-real-time-mode", False),
        (NO, "I would load none", False),
    ],
)
def test_choice_of_a_skill_is_graded(trigger: Trigger, reply: str, *, is_right: bool) -> None:
    """A prompt that should load the skill needs its name; for other prompts, any other choice is right."""
    assert is_right == grade(trigger, reply).is_right
