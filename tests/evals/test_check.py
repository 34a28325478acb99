from dataclasses import replace

from evals import check, items

QUESTION = next(question for question in items.questions() if question.name == "stream-stream-oss")
TRIGGER = items.triggers()[0]


def test_references_pass_and_wrong_answers_fail() -> None:
    assert [] == list(check.broken_questions(items.questions()))
    assert [] == list(check.broken_triggers(items.triggers()))


def test_key_that_refuses_the_reference_would_be_found() -> None:
    """The check can fail: the key is too narrow."""
    narrow = replace(QUESTION, grade={"required": ["one exact sentence"]})

    assert ["stream-stream-oss: " + repr(QUESTION.expected_output) + " is graded as wrong"] == list(
        check.broken_questions([narrow])
    )


def test_key_that_accepts_a_wrong_answer_would_be_found() -> None:
    """The check can fail: the key is too wide."""
    wide = replace(QUESTION, grade={"required": ["."]})

    assert len(QUESTION.wrong_answers) == len(list(check.broken_questions([wide])))


def test_wrong_answer_that_equals_the_reference_would_be_found() -> None:
    """The check can fail: an answer cannot be right and wrong."""
    both = replace(QUESTION, wrong_answers=(QUESTION.expected_output,))

    assert 1 == len(list(check.broken_questions([both])))
