"""Verify answers to the coding tasks: known answers and assistants' answers."""

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType

from evals.items import Task, Verdict
from evals.stage import REASON, Answer, WrongAnswerError
from spark_rtm.prove.subjects.bench import Bench


def module_of(task: str) -> ModuleType:
    """Return the module with the verifier and the known answers of a task."""
    return importlib.import_module(f"evals.coding_tasks.{task}")


def known_answers(task: str) -> list[tuple[Answer, str]]:
    """Return the right answer of a task, then its wrong answers, each with a pattern of the verifier's reason."""
    module = module_of(task)
    wrong = {answer: getattr(answer, REASON) for answer in vars(module).values() if hasattr(answer, REASON)}
    return [(module.right, ""), *wrong.items()]


def verify(bench: Bench, task: str, answer: Answer) -> Verdict:
    """Return the verdict of a task's verifier on an answer."""
    try:
        module_of(task).verify(bench, answer)
    except WrongAnswerError as error:
        return Verdict(task, is_right=False, reason=str(error))
    except Exception as error:  # noqa: BLE001 - an answer may raise anything
        first = str(error).strip().partition("\n")[0]
        return Verdict(task, is_right=False, reason=f"{type(error).__name__}: {first}")
    return Verdict(task, is_right=True)


def broken_tasks(bench: Bench, tasks: Iterable[Task], say: Callable[[str], None]) -> Iterator[str]:
    """Yield a message for each known answer with a wrong verdict or reason. Call `say` with each verdict."""
    for task in tasks:
        for answer, reason in known_answers(task.name):
            verdict = verify(bench, task.name, answer)
            name = f"{task.name}: {answer.__name__}"
            say(f"{name}: {verdict.reason or 'right'}")
            if verdict.is_right == bool(reason) or not re.search(reason, verdict.reason, re.DOTALL):
                expected = f"wrong, because {reason!r}" if reason else "right"
                yield f"{name} is {verdict.reason or 'right'}; expected {expected}"
