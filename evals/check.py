"""Check how questions and triggers are graded: reference answers must be right, and wrong answers wrong."""

from collections.abc import Iterable, Iterator

from evals import grading, triggers
from evals.items import Question, Trigger


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
