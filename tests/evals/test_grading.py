import re
from dataclasses import replace
from typing import Any

import pytest

from evals import items
from evals.grading import answer_line, broken_questions, grade

QUESTIONS = {question.name: question for question in items.questions()}
JOIN = QUESTIONS["stream-stream-oss"]
# Other words for the right answer.
RIGHT = {
    "slots-repartition": ["8 + 4 + 6 = 18 slots", "**18** (8 for the source, 4 and 6)", "18 task slots."],
    "too-few-slots-stateless": [
        "Two partitions silently starve; there is no exception and progress events keep coming.",
        "Without an error, some partitions are never consumed.",
    ],
    "interval-unit": ['No. Use "5 seconds"', "It fails with INVALID_INTERVAL_FORMAT; write 5000 milliseconds"],
    "stop-and-restart": ["Everything produced in the last 4 minutes", "every result since the last commit"],
    "unreachable-broker": ["about 180 seconds (three tries of 60 s)", "roughly three minutes"],
    "databricks-compute": ["Autoscaling, Photon acceleration, spot/preemptible workers"],
}


def _cases(answers: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, answer) for name, texts in answers.items() for answer in texts]


@pytest.mark.parametrize(("name", "answer"), _cases(RIGHT))
def test_right_answer_in_other_words_is_right(name: str, answer: str) -> None:
    assert "" == grade(QUESTIONS[name], f"Some thoughts.\n\nANSWER: {answer}").reason


def test_only_the_last_answer_line_counts() -> None:
    """An explanation may mention wrong answers, and an assistant may correct itself."""
    assert grade(QUESTIONS["slots-repartition"], "ANSWER: 14\nNo: the repartition counts.\n**ANSWER:** 18\n").is_right
    assert not grade(QUESTIONS["slots-repartition"], "ANSWER: 18\nANSWER: 14").is_right


def test_reply_without_an_answer_line_is_wrong() -> None:
    assert "the reply has no line `ANSWER: ...`" == grade(QUESTIONS["slots-repartition"], "18").reason


def test_reason_quotes_the_answer_and_the_pattern() -> None:
    reason = grade(QUESTIONS["default-output-mode"], "ANSWER: none").reason

    assert "nothing matches 'output_mode_not_supported' in 'none'" == reason


@pytest.mark.parametrize(
    "text", ["ANSWER: `1,000` Rows", "**Answer:** 1000 rows", "> ANSWER : 1000 rows", "answer:1000 rows"]
)
def test_answer_line_is_found_in_usual_forms(text: str) -> None:
    assert "1000 rows" == answer_line(text)


def test_references_pass_and_wrong_answers_fail() -> None:
    assert [] == list(broken_questions(items.questions()))


@pytest.mark.parametrize(
    ("changes", "number"),
    [
        ({"grade": {"required": ["one exact sentence"]}}, 1),
        ({"grade": {"required": ["."]}}, len(JOIN.wrong_answers)),
        ({"wrong_answers": (JOIN.expected_output,)}, 1),
    ],
    ids=["key refuses the reference", "key accepts a wrong answer", "wrong answer equals the reference"],
)
def test_wrong_key_would_be_found(changes: dict[str, Any], number: int) -> None:
    found = list(broken_questions([replace(JOIN, **changes)]))

    assert number == len(found)
    assert all(re.fullmatch(rf"{JOIN.name}: '.*' is graded as (right|wrong)", text) for text in found)


YES = items.Trigger("yes", "lower the latency", should_trigger=True)
NO = items.Trigger("no", "plot a file", should_trigger=False)


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
def test_choice_of_a_skill_is_graded(trigger: items.Trigger, reply: str, *, is_right: bool) -> None:
    """If a prompt should load the skill, only the skill's name is right. Otherwise, any other choice is right."""
    assert is_right == grade(trigger, reply).is_right
