import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals import items
from evals.items import Question
from scripts.pack import files
from scripts.pack.checks.links import link_targets
from spark_rtm.text import markdown

ANSWER_LINES = 30


def unanswered(questions: Iterable[Question]) -> list[str]:
    linked = link_targets(files.ROOT / files.SKILL)
    return [q.name for q in questions if _page(q) not in linked or not re.search(q.shows, _beginning(q))]


def _page(question: Question) -> Path:
    return (files.ROOT / question.section.partition("#")[0]).resolve()


def _beginning(question: Question) -> str:
    text = _page(question).read_text(encoding="utf-8")
    headings = markdown.headings(text)
    [start] = [heading for heading in headings if heading.anchor == question.section.partition("#")[2]]
    ends = [h.line - 1 for h in headings if h.line > start.line and h.level <= start.level]
    return "\n".join(text.splitlines()[start.line - 1 : min([start.line - 1 + ANSWER_LINES, *ends])])


def test_each_question_is_answered_at_the_start_of_a_section() -> None:
    """A reader or an assistant finds the answer one link away from SKILL.md; if a page changes it, this test fails."""
    assert [] == unanswered(items.questions())


@pytest.mark.parametrize(
    "changes",
    [
        {"shows": r"19 slots"},
        {"section": "README.md#use-it", "shows": "."},
        {"section": "references/foreach.md#the-smallest-writer", "shows": "`isolation_level=None` commits"},
    ],
    ids=["no-statement", "no-link", "far-below-the-heading"],
)
def test_question_without_an_answer_would_be_found(changes: dict[str, Any]) -> None:
    question = replace(items.questions()[0], **changes)

    assert [question.name] == unanswered([question])


def test_numbers_of_items_are_those_that_were_promised() -> None:
    """There are at least 60 questions, 8 tasks, and 20 prompts; half of them should not load the skill."""
    prompts = items.triggers()
    readme = (items.FOLDER / "README.md").read_text(encoding="utf-8")

    assert f"{len(items.questions())} questions, 8 coding tasks and 20 prompts" in readme
    assert 60 <= len(items.questions())
    assert 8 == len(items.tasks())
    assert (20, 10) == (len(prompts), sum(prompt.should_trigger for prompt in prompts))


def test_items_that_others_raised_name_their_thread() -> None:
    """All other items come from this project; results count both separately."""
    questions, tasks = (
        [item.raised_at for item in found if item.raised_at] for found in (items.questions(), items.tasks())
    )

    assert (6, 2) == (len(questions), len(tasks))
    thread = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+")
    assert [] == [url for url in (*questions, *tasks) if not thread.fullmatch(url)]


def test_names_and_numbers_of_items_are_unique() -> None:
    found: list[items.Question | items.Task] = [*items.questions(), *items.tasks()]

    assert len(found) == len({item.name for item in found}) == len({item.prompt for item in found})
    assert len(items.triggers()) == len({trigger.prompt for trigger in items.triggers()})


def test_file_of_evaluations_follows_the_guide() -> None:
    content = json.loads((items.FOLDER / "evals.json").read_text(encoding="utf-8"))

    assert "spark-real-time-mode" == content["skill_name"]
    assert list(range(1, len(content["evals"]) + 1)) == [item["id"] for item in content["evals"]]
    assert all({"prompt", "expected_output"} <= item.keys() for item in content["evals"])
    assert all(item["assertions"] for item in content["evals"] if "verifier" in item)


def test_questions_have_a_wrong_answer_and_a_key() -> None:
    """A question without a wrong answer would not prove that its key can reject a wrong answer."""
    questions = items.questions()

    assert [] == [question.name for question in questions if not question.wrong_answers]
    assert {"number", "required", "forbidden"} >= {key for question in questions for key in question.grade}
    assert [] == [question.name for question in questions if not question.grade.keys() & {"number", "required"}]
