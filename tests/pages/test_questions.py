"""New users find answers one link away from SKILL.md, at the beginning of a section."""

import re

import pytest

from scripts.pack import files
from scripts.pack.checks.links import link_targets
from scripts.text import markdown

ANSWER_LINES = 30
# Question: page, anchor of the section, and pattern of the answer.
QUESTIONS: dict[str, tuple[str, str, str]] = {
    "How many slots for 8 Kafka partitions, a repartition to 4 and an aggregation over 6?": (
        "cluster_and_slots",
        "worked-examples",
        r"8 \+ 4 \+ 6 = 18 slots",
    ),
    "Why is partition 3 silent?": ("cluster_and_slots", "why-is-one-partition-silent", r"fewer slots than source part"),
    "Why are rows missing?": ("debugging", "rows-are-missing", r"starved"),
    "Why are my results repeated?": ("debugging", "rows-are-repeated", r"replays"),
    "Which output mode?": ("errors_at_start", "output-mode-is-not-update", r'outputMode\("update"\)'),
    "Can I use foreachBatch?": (
        "sources_sinks_operators",
        "sinks-and-output-modes",
        r"`foreachBatch\(function\)` \| at start: not in allowlist",
    ),
    "Why does True fail?": ("errors_at_start", "invalid-trigger", r"VALUE_NOT_NON_EMPTY_STR"),
    "How long can a timer be late?": ("state", "timers", r"end of (the|its) batch"),
    "What do I do with a default checkpoint?": ("state", "checkpoints-and-state-store", r"CHECKPOINT_FORMAT_V1"),
    "Which runtime for Python stateful?": ("runtimes", "databricks", r"17\.3 LTS.*`transformWithState`"),
    "Where is p99?": ("latency", "where-is-p99", r"batch boundary|boundary"),
    "How do I write to Lakebase?": ("postgres_sink", "which-sink", r"format\(\"postgresql\"\)|PostgresUpsertSink"),
}


def answer(text: str, anchor: str) -> str:
    """Return the first lines of a section."""
    [start] = [heading.line for heading in markdown.headings(text) if heading.anchor == anchor]
    return "\n".join(text.splitlines()[start - 1 : start - 1 + ANSWER_LINES])


@pytest.mark.parametrize(("page", "anchor", "pattern"), QUESTIONS.values(), ids=QUESTIONS)
def test_question_is_answered_at_the_start_of_its_section(page: str, anchor: str, pattern: str) -> None:
    """SKILL.md links to the page, and the first lines of the section contain the answer."""
    path = files.ROOT / f"references/{page}.md"

    assert path.resolve() in link_targets(files.ROOT / files.SKILL)
    assert re.search(pattern, answer(path.read_text(encoding="utf-8"), anchor)), answer(path.read_text(), anchor)


def test_answer_far_below_the_heading_is_not_found() -> None:
    """The check can fail: it does not find an answer below the first lines of a section."""
    page = "# T\n\n## Section\n" + "line\n" * ANSWER_LINES + "the answer\n"

    assert "the answer" not in answer(page, "section")
