"""The items follow the public formats, and each key of a question is backed by a section of a page."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from evals import items
from evals.items import Question
from scripts.pack import files
from spark_rtm.text import markdown


def unbacked(questions: Iterable[Question]) -> list[str]:
    """Return the questions whose section does not exist or does not contain what backs the key."""
    return [question.name for question in questions if not re.search(question.shows, _section(question.section))]


def _section(place: str) -> str:
    page, _, anchor = place.partition("#")
    text = (files.ROOT / page).read_text(encoding="utf-8")
    headings = markdown.headings(text)
    [start] = [heading for heading in headings if heading.anchor == anchor]
    ends = [h.line - 1 for h in headings if h.line > start.line and h.level <= start.level]
    return "\n".join(text.splitlines()[start.line : min(ends, default=None)])


def test_each_key_is_backed_by_a_section_of_a_page() -> None:
    """If a page changes its statement, the question that depends on it is found."""
    assert [] == unbacked(items.questions())


def test_key_without_a_statement_would_be_found() -> None:
    """The check can fail."""
    question = replace(items.questions()[0], shows=r"19 slots")

    assert [question.name] == unbacked([question])


def test_numbers_of_items_are_those_that_were_promised() -> None:
    """There are at least 60 questions, 12 tasks, and 20 prompts of which half should not load the skill."""
    prompts = items.triggers()
    readme = (items.FOLDER / "README.md").read_text(encoding="utf-8")

    assert f"{len(items.questions())} questions, 12 coding tasks and 20 prompts" in readme
    assert 60 <= len(items.questions())
    assert 12 == len(items.tasks())
    assert (20, 10) == (len(prompts), sum(prompt.should_trigger for prompt in prompts))


def test_names_and_numbers_of_items_are_unique() -> None:
    """A name selects one item, and no prompt is asked twice."""
    found: list[items.Question | items.Task] = [*items.questions(), *items.tasks()]

    assert len(found) == len({item.name for item in found}) == len({item.prompt for item in found})
    assert len(items.triggers()) == len({trigger.query for trigger in items.triggers()})


def test_file_of_evaluations_follows_the_guide() -> None:
    """Runners of others find the keys of the guide, and the name of this skill."""
    content = json.loads((items.FOLDER / "evals.json").read_text(encoding="utf-8"))

    assert "spark-real-time-mode" == content["skill_name"]
    assert list(range(1, len(content["evals"]) + 1)) == [item["id"] for item in content["evals"]]
    assert all({"prompt", "expected_output"} <= item.keys() for item in content["evals"])
    assert all(item["assertions"] for item in content["evals"] if "verifier" in item)


@pytest.mark.parametrize("question", items.questions(), ids=lambda question: question.name)
def test_question_has_a_wrong_answer_and_a_key(question: Question) -> None:
    """A question without a wrong answer would not show that its key can refuse one."""
    assert question.wrong_answers
    assert question.grade.keys() <= {"number", "required", "forbidden"}
    assert question.grade.keys() & {"number", "required"}
