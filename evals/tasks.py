"""Verify answers to the coding tasks: known answers and assistants' answers."""

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType

from evals.items import Task
from evals.stage import Answer, WrongAnswerError
from evals.verdict import Verdict
from spark_rtm.prove.subjects.bench import Bench


@dataclass(frozen=True)
class Known:
    """An answer with a known verdict."""

    task: str
    name: str
    answer: Answer
    reason: str
    """Pattern of the verifier's expected reason; empty for a right answer."""


def known_answers(task: str) -> list[Known]:
    """Return the right answer of a task, then its wrong answers."""
    module = importlib.import_module(f"evals.answers.{task}")
    wrong = [Known(task, answer.__name__, answer, reason) for answer, reason in module.WRONG.items()]
    return [Known(task, module.REFERENCE.__name__, module.REFERENCE, ""), *wrong]


def verifier_of(task: str) -> ModuleType:
    """Return the module with the verifier of a task."""
    return importlib.import_module(f"evals.verifiers.{task}")


def verify(bench: Bench, task: str, answer: Answer) -> Verdict:
    """Return the verdict of a task's verifier on an answer."""
    try:
        verifier_of(task).verify(bench, answer)
    except WrongAnswerError as error:
        return Verdict(task, is_right=False, reason=str(error))
    except Exception as error:  # noqa: BLE001 - an answer may raise anything
        first = str(error).strip().partition("\n")[0]
        return Verdict(task, is_right=False, reason=f"{type(error).__name__}: {first}")
    return Verdict(task, is_right=True)


def broken_tasks(bench: Bench, tasks: Iterable[Task], say: Callable[[str], None]) -> Iterator[str]:
    """Yield a message for each known answer with a wrong verdict or reason. Call `say` with each verdict."""
    for task in tasks:
        for known in known_answers(task.name):
            verdict = verify(bench, task.name, known.answer)
            say(f"{task.name}: {known.name}: {verdict.reason or 'right'}")
            if verdict.is_right == bool(known.reason) or not re.search(known.reason, verdict.reason, re.DOTALL):
                expected = f"wrong, because {known.reason!r}" if known.reason else "right"
                yield f"{task.name}: {known.name} is {verdict.reason or 'right'}; expected {expected}"
