"""Answers that people found in the pages or with `rtm errors`: cutting a page must not remove them."""

import re

import pytest

from scripts.pack import files
from spark_rtm.commands.errors import find
from spark_rtm.text import markdown

TEXTS = {
    "OffsetOutOfRangeException after the topic was deleted and recreated": "errors_kafka.md#offset-out-of-range",
    "[CONCURRENT_STREAM_LOG_UPDATE] Multiple streaming jobs detected for 3.": "errors.md#checkpoint-and-state",
    "Multiple streaming queries are concurrently using file:/checkpoints/clicks": "errors.md#checkpoint-and-state",
    "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match": "errors.md#checkpoint-and-state",
    "[STREAMING_CHECKPOINT_MISSING_METADATA_FILE] the metadata file is missing": "errors.md#checkpoint-and-state",
    "NoClassDefFoundError: org/apache/kafka/common/serialization": "errors.md#machines-and-class-path",
    "idle connections of Event Hubs": "errors_kafka.md",
    "Failed to find the data source: jdbcStreaming": "errors_on_databricks.md#errors-on-databricks",
    "Data source postgresql does not support streamed writing": "errors_on_databricks.md#errors-on-databricks",
    "psycopg.errors.DeadlockDetected: deadlock detected": "postgres_sink.md#what-goes-wrong",
    "requirement failed: Previous batch 4 not found in offset log": "errors.md#checkpoint-and-state",
}
"""A text that people paste, and the section to which the search leads."""
SITUATIONS = {
    "recreated topic": ("errors_kafka.md#offset-out-of-range", "recreated … startingOffsets=earliest"),
    "changed grouping columns": ("state.md#changes-of-the-code", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"),
    "removed stateful operator": ("state.md#changes-of-the-code", "STREAMING_STATEFUL_OPERATOR_NOT_MATCH"),
    "external PostgreSQL": ("postgres_sink.md#native-sink-on-databricks", "external PostgreSQL"),
    "deadlocks of upserts, 40P01": ("postgres_sink.md#what-goes-wrong", "40P01 … sort the rows"),
    "Fabric Runtime 2.0": ("runtimes.md", "Fabric … 2.0"),
    "dropDuplicatesWithinWatermark": ("sources_sinks_operators.md", "dropDuplicatesWithinWatermark"),
    "transformWithStateInPandas": ("sources_sinks_operators.md", "transformWithStateInPandas"),
    "one of eight queries ended": ("errors.md#catch-errors-after-the-start", "spark.streams.active"),
    "slots of a sample with maxPartitions": ("cluster_and_slots.md", "maxPartitions"),
    "header traceparent": ("kafka_patterns.md", "includeHeaders"),
    "checkpoint of format 1, new query": ("inspect.md#continue-with-a-new-query", "--as-starting-offsets"),
    "two drivers of one application": ("restarts.md", "Standby … lock"),
    "graceful stop without repeats": ("control.md", "control.stop"),
}
"""A situation, the section where people look, and words of the answer in their order."""


def section(place: str) -> str:
    """Return the text of a page, or of one of its sections."""
    page, _, anchor = place.partition("#")
    text = (files.ROOT / "references" / page).read_text(encoding="utf-8")
    lines = text.splitlines()
    headings = markdown.headings(text)
    number = next((n for n, heading in enumerate(headings) if heading.anchor == anchor), None)
    assert number is not None or not anchor, f"{page} has no section #{anchor}"
    if number is None:
        return text
    ends = [each.line for each in headings[number + 1 :] if each.level <= headings[number].level]
    return "\n".join(lines[headings[number].line : ends[0] - 1 if ends else None])


@pytest.mark.parametrize(("text", "place"), TEXTS.items())
def test_pasted_text_leads_to_the_section_that_solved_it(text: str, place: str) -> None:
    assert any(each.page.startswith(f"references/{place}") for each in find(text)), find(text)


@pytest.mark.parametrize(("place", "words"), SITUATIONS.values(), ids=SITUATIONS)
def test_section_still_answers_the_situation(place: str, words: str) -> None:
    assert re.search(".*".join(map(re.escape, words.split(" … "))), section(place), re.DOTALL)


def test_answer_of_another_section_is_not_accepted() -> None:
    assert "40P01" not in section("postgres_sink.md#table-design")
