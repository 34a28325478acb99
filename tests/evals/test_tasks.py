"""A coding task's verifier accepts the reference answer, and rejects wrong answers for the expected reason."""

import functools

import pytest

from evals import items
from evals.coding_tasks import two_outputs
from evals.stage import REASON, broken_tasks, known_answers, module_of, wrong
from spark_rtm.prove.engine import Bench

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

TASKS = {task.name: task for task in items.tasks()}


@pytest.mark.parametrize("task", TASKS)
def test_task_has_a_verifier_a_reference_and_two_wrong_answers(task: str) -> None:
    """`make evals` checks their verdicts in minutes."""
    assert callable(module_of(task).verify)
    assert 3 <= len(known_answers(task))


def test_known_answers_get_their_verdicts_and_unexpected_ones_are_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a real broker, a right answer that is marked as wrong and an answer with another reason are reported."""

    @wrong("any reason")
    @functools.wraps(two_outputs.right)
    def marked(records: object) -> object:
        return two_outputs.right(records)  # type: ignore[arg-type]

    monkeypatch.setattr(two_outputs, "marked", marked, raising=False)
    monkeypatch.setattr(two_outputs.union, REASON, "some other reason")
    said = list[str]()

    first, second = broken_tasks(bench, [TASKS["two_outputs"]], said.append)

    assert "expected wrong, because 'some other reason'" in first
    assert "two_outputs: right is right; expected wrong, because 'any reason'" == second
    assert ["right", "union", "one_target", "null_topic", "right"] == [text.split(": ")[1] for text in said]
