"""Check the grading of questions and triggers with right and wrong answers."""

from collections.abc import Iterable, Iterator

from evals import grading, triggers
from evals.items import Question, Trigger


def broken_questions(questions: Iterable[Question]) -> Iterator[str]:
    """Yield a message for each right answer graded as wrong, and for each wrong answer graded as right."""
    for question in questions:
        answers = {question.expected_output: True, **dict.fromkeys(question.wrong_answers, False)}
        for answer, is_right in answers.items():
            verdict = grading.grade(question, f"ANSWER: {answer}")
            if verdict.is_right != is_right:
                yield f"{question.name}: {answer!r} is graded as {'right' if verdict.is_right else 'wrong'}"


def broken_triggers(prompts: Iterable[Trigger]) -> Iterator[str]:
    """Yield a message for each choice that gets the wrong grade."""
    name = triggers.skill()[0]
    for prompt in prompts:
        for choice in (name, triggers.NONE, *triggers.NEIGHBOURS):
            verdict = triggers.grade(prompt, f"ANSWER: {choice}")
            if verdict.is_right != ((choice == name) == prompt.should_trigger):
                yield f"{prompt.name}: the choice {choice!r} is graded as {'right' if verdict.is_right else 'wrong'}"
