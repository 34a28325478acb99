"""A new user's questions are answered one hop away from SKILL.md, at the beginning of the section that is linked."""

import re

import pytest

from scripts.pack import files
from scripts.pack.checks.links import targets
from scripts.text import markdown

ANSWER_LINES = 30
# Question: page, section, and what the answer says.
QUESTIONS: dict[str, tuple[str, str, str]] = {
    "How many slots for 8 Kafka partitions, a repartition to 4 and an aggregation over 6?": (
        "cluster_and_slots",
        "worked-examples",
        r"8 \+ 4 \+ 6 = 18 slots",
    ),
    "Why is partition 3 silent?": ("cluster_and_slots", "why-is-one-partition-silent", r"fewer slots than source part"),
    "Which output mode?": ("errors_at_start", "output-mode", r'outputMode\("update"\)'),
    "Can I use foreachBatch?": (
        "sources_sinks_operators",
        "sinks-and-output-modes",
        r"`foreachBatch\(function\)` \| at start: not allowed",
    ),
    "Why does True fail?": ("errors_at_start", "trigger", r"VALUE_NOT_NON_EMPTY_STR"),
    "How long can a timer be late?": ("state", "timers", r"end of (the|its) batch"),
    "What do I do with a default checkpoint?": ("state", "checkpoints-and-store", r"CHECKPOINT_FORMAT_V1"),
    "Which runtime for Python stateful?": ("cluster_and_slots", "which-databricks-runtime", r"17\.3 LTS"),
    "Where is p99?": ("latency", "where-is-p99", r"batch boundary|boundary"),
    "How do I write to Lakebase?": ("postgres_sink", "which-sink", r"format\(\"postgresql\"\)|PostgresUpsertSink"),
}


def answer(text: str, anchor: str) -> str:
    """Return the first lines of a section, without its contents list."""
    [start] = [heading.line for heading in markdown.headings(text) if heading.anchor == anchor]
    return "\n".join(text.splitlines()[start - 1 : start - 1 + ANSWER_LINES])


@pytest.mark.parametrize(("page", "anchor", "says"), QUESTIONS.values(), ids=QUESTIONS)
def test_question_is_answered_where_the_skill_leads(page: str, anchor: str, says: str) -> None:
    """The router leads to the page, and the section begins with the answer."""
    path = files.ROOT / f"references/{page}.md"

    assert path.resolve() in targets(files.ROOT / files.SKILL)
    assert re.search(says, answer(path.read_text(encoding="utf-8"), anchor)), answer(path.read_text(), anchor)


def test_answer_that_comes_late_is_not_found() -> None:
    """The check can fail: a section that begins with something else does not count."""
    page = "# T\n\n## Section\n" + "line\n" * ANSWER_LINES + "the answer\n"

    assert "the answer" not in answer(page, "section")
