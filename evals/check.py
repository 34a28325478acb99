"""Check the evaluations: each reference answer must be right, and each wrong answer wrong for its known reason."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from evals import grading, triggers
from evals.items import Item, Question, Task, Trigger
from evals.tasks import known_answers, verify
from scripts.prove.subjects.bench import Bench

Say = Callable[[str], None]


def broken(items: Sequence[Item], bench: Callable[[], Bench], say: Say) -> Iterator[str]:
    """Yield the answers whose verdict is not the expected one; `bench` returns the services for coding tasks."""
    yield from broken_questions(item for item in items if isinstance(item, Question))
    yield from broken_triggers(item for item in items if isinstance(item, Trigger))
    if tasks := [item for item in items if isinstance(item, Task)]:
        yield from broken_tasks(bench(), tasks, say)


def broken_questions(questions: Iterable[Question]) -> Iterator[str]:
    """Yield the reference answers that are graded as wrong, and the wrong answers that are graded as right."""
    for question in questions:
        answers = {question.expected_output: True, **dict.fromkeys(question.wrong_answers, False)}
        for answer, is_right in answers.items():
            verdict = grading.grade(question, f"ANSWER: {answer}")
            if verdict.is_right != is_right:
                yield f"{question.name}: {answer!r} is graded as {'right' if verdict.is_right else 'wrong'}"


def broken_triggers(prompts: Iterable[Trigger]) -> Iterator[str]:
    """Yield the prompts for which a right choice is graded as wrong, or a wrong one as right."""
    name = triggers.skill()[0]
    for prompt in prompts:
        for choice in (name, triggers.NONE, *triggers.NEIGHBOURS):
            verdict = triggers.grade(prompt, f"ANSWER: {choice}")
            if verdict.is_right != ((choice == name) == prompt.should_trigger):
                yield f"{prompt.name}: the choice {choice!r} is graded as {'right' if verdict.is_right else 'wrong'}"


def broken_tasks(bench: Bench, tasks: Iterable[Task], say: Say) -> Iterator[str]:
    """Yield the known answers whose verdict or reason is not the expected one; call `say` with each verdict."""
    for task in tasks:
        for known in known_answers(task.name):
            verdict = verify(bench, task.name, known.answer)
            say(f"{task.name}: {known.name}: {verdict.reason or 'right'}")
            if verdict.is_right == bool(known.reason) or not re.search(known.reason, verdict.reason, re.DOTALL):
                expected = f"wrong, because {known.reason!r}" if known.reason else "right"
                yield f"{task.name}: {known.name} is {verdict.reason or 'right'}; expected {expected}"
