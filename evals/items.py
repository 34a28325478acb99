"""
Load the questions, coding tasks and prompts in the formats of the guides on https://agentskills.io.

The keys `name`, `grade`, `wrong_answers`, `source`, `verifier` and `raised_at` are additions of this repository.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Item:
    """A question, a coding task or a trigger prompt."""

    name: str
    prompt: str
    """The question or task, or the words of a user for a trigger."""
    raised_at: str = field(default="", kw_only=True)
    """The public thread in which other people raised the question, or an empty string for items of this project."""


@dataclass(frozen=True)
class Question(Item):
    """A question and its key."""

    expected_output: str
    """The reference answer."""
    grade: Mapping[str, Any]
    """`number`, or `required` and `forbidden` patterns."""
    wrong_answers: tuple[str, ...]
    section: str
    """The section that contains the answer, as `references/page.md#anchor`."""
    shows: str
    """Pattern in the section that proves the key."""


@dataclass(frozen=True)
class Task(Item):
    """A coding task, whose module is `evals/coding_tasks/NAME.py`."""


@dataclass(frozen=True)
class Trigger(Item):
    """A prompt that should, or should not, make an assistant load the skill."""

    should_trigger: bool


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right and, if it is wrong, the reason."""

    item: str
    is_right: bool
    reason: str = ""
    read_bytes: int | None = None
    """Size of the opened files of the pack, or None if unknown."""
    seconds: float = 0.0
    raised_at: str = ""


def questions() -> list[Question]:
    """Return the questions of `evals.json`."""
    return [
        Question(
            item["name"],
            item["prompt"],
            item["expected_output"],
            item["grade"],
            tuple(item["wrong_answers"]),
            item["source"]["section"],
            item["source"]["shows"],
            raised_at=item.get("raised_at", ""),
        )
        for item in _read("evals.json")["evals"]
        if "grade" in item
    ]


def tasks() -> list[Task]:
    """Return the coding tasks of `evals.json`."""
    found = (item for item in _read("evals.json")["evals"] if "verifier" in item)
    return [Task(item["name"], item["prompt"], raised_at=item.get("raised_at", "")) for item in found]


def triggers() -> list[Trigger]:
    """Return the prompts of `eval_queries.json`. Each name contains the number of the prompt."""
    found = enumerate(_read("eval_queries.json"), 1)
    return [Trigger(f"query-{n}", item["query"], item["should_trigger"]) for n, item in found]


def _read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))
