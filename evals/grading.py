"""
Grade the answer to a question by code.

Only the last line that begins with `ANSWER:` counts, so an explanation may mention what is wrong. Patterns are searched
in this line, in lower case and without Markdown.
"""

import re
from collections.abc import Iterable, Iterator

from evals.items import Question, Verdict

INSTRUCTION = "\n\nFinish with one line that begins with `ANSWER:` and states the answer in at most 30 words."
_ANSWER = re.compile(r"^[\s>*_#-]*answer\s*[*_]*\s*:[*_\s]*(.+)$", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])")


def answer_line(reply: str) -> str | None:
    """Return the normalized text of the last `ANSWER:` line, or None."""
    found = _ANSWER.findall(reply)
    if not found:
        return None
    text = found[-1].lower().replace("\u2019", "'")
    # The apostrophe of "doesn't" stays.
    text = re.sub(r"[`*\"\u201c\u201d]|(?<!\w)'|'(?!\w)", "", text)
    return " ".join(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text).split())


def grade(question: Question, reply: str) -> Verdict:
    """Return the verdict on the answer to a question."""
    line = answer_line(reply)
    if line is None:
        return Verdict(question.name, is_right=False, reason="the reply has no line `ANSWER: ...`")
    reason = _wrong_number(question, line) or _wrong_text(question, line)
    return Verdict(question.name, is_right=not reason, reason=f"{reason} in {line!r}" if reason else "")


def broken_questions(questions: Iterable[Question]) -> Iterator[str]:
    """Yield a message for each right answer graded as wrong, and for each wrong answer graded as right."""
    for question in questions:
        answers = {question.expected_output: True, **dict.fromkeys(question.wrong_answers, False)}
        for answer, is_right in answers.items():
            verdict = grade(question, f"ANSWER: {answer}")
            if verdict.is_right != is_right:
                yield f"{question.name}: {answer!r} is graded as {'right' if verdict.is_right else 'wrong'}"


def _wrong_number(question: Question, line: str) -> str:
    if "number" not in question.grade:
        return ""
    numbers = [float(number) for number in _NUMBER.findall(line)]
    # "18 (8 + 4 + 6)" and "8 + 4 + 6 = 18" are answers, too.
    after = [float(number) for number in re.findall(r"= ?(\d+(?:\.\d+)?)", line)]
    found = (after or numbers)[:1]
    return "" if found == [question.grade["number"]] else f"the number is not {question.grade['number']}"


def _wrong_text(question: Question, line: str) -> str:
    for pattern in question.grade.get("required", ()):
        if not re.search(pattern, line):
            return f"nothing matches {pattern!r}"
    for pattern in question.grade.get("forbidden", ()):
        if re.search(pattern, line):
            return f"the forbidden pattern {pattern!r} matches"
    return ""
