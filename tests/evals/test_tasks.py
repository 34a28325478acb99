"""The verifier of a coding task accepts the reference, and refuses wrong answers for the right reason."""

import pytest

from evals import items
from evals.coding_tasks import two_outputs
from evals.stage import REASON
from evals.tasks import broken_tasks, known_answers, module_of
from spark_rtm.prove.subjects.bench import Bench

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

TASKS = {task.name: task for task in items.tasks()}


@pytest.mark.parametrize("task", TASKS)
def test_task_has_a_verifier_a_reference_and_two_wrong_answers(task: str) -> None:
    """`make evals` checks their verdicts in minutes."""
    assert callable(module_of(task).verify)
    assert 3 <= len(known_answers(task))


def test_known_answers_of_a_task_get_their_verdicts(bench: Bench) -> None:
    """On a real broker, the reference passes and each wrong answer fails for the intended reason."""
    said = list[str]()

    assert [] == list(broken_tasks(bench, [TASKS["two_outputs"]], said.append))
    assert [f"two_outputs: {name}" for name in ("right", "union", "one_target", "null_topic")] == [
        ": ".join(text.split(": ")[:2]) for text in said
    ]


def test_unexpected_verdict_of_an_answer_would_be_found(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: a wrong answer fails for another reason than the stated one, or a reference fails."""
    monkeypatch.setattr(two_outputs, "right", two_outputs.union)
    monkeypatch.setattr(two_outputs.union, REASON, "some other reason")

    first, second = broken_tasks(bench, [TASKS["two_outputs"]], lambda _text: None)

    assert "expected right" in first
    assert "expected wrong, because 'some other reason'" in second
