"""
Load the items for an assistant: questions, coding tasks and prompts that should or should not load the skill.

`evals.json` and `eval_queries.json` have the formats of the guides on https://agentskills.io. The keys `name`, `grade`,
`wrong_answers`, `source`, `verifier` and `raised_at` are additions of this repository.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Question:
    """A question and its key."""

    name: str
    prompt: str
    expected_output: str
    """The reference answer."""
    grade: Mapping[str, Any]
    """`number`, or `required` and `forbidden` patterns."""
    wrong_answers: tuple[str, ...]
    section: str
    """The section that contains the answer, as `references/page.md#anchor`."""
    shows: str
    """Pattern in the section that proves the key."""
    raised_at: str = ""
    """The public thread in which others raised this; empty for items of this project."""


@dataclass(frozen=True)
class Task:
    """A coding task, whose module is `evals/coding_tasks/NAME.py`."""

    name: str
    prompt: str
    raised_at: str = ""


@dataclass(frozen=True)
class Trigger:
    """A prompt that should, or should not, make an assistant load the skill."""

    name: str
    query: str
    should_trigger: bool


Item = Question | Task | Trigger


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, or the reason why not."""

    item: str
    is_right: bool
    reason: str = ""
    read_bytes: int | None = None
    """Size of the opened files of the pack, or None if unknown."""
    seconds: float = 0.0
    raised_at: str = ""
    """The public thread in which others raised the item, or an empty string."""


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
            item.get("raised_at", ""),
        )
        for item in _evals()
        if "grade" in item
    ]


def tasks() -> list[Task]:
    """Return the coding tasks of `evals.json`."""
    return [Task(item["name"], item["prompt"], item.get("raised_at", "")) for item in _evals() if "verifier" in item]


def triggers() -> list[Trigger]:
    """Return the prompts of `eval_queries.json`. Each name contains the number of the prompt."""
    found: list[dict[str, Any]] = json.loads((FOLDER / "eval_queries.json").read_text(encoding="utf-8"))
    return [Trigger(f"query-{n}", item["query"], item["should_trigger"]) for n, item in enumerate(found, 1)]


def _evals() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / "evals.json").read_text(encoding="utf-8"))["evals"]
    return found
