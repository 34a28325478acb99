"""Texts of exceptions that operators paste lead to their cause; `known_errors.json` names the origin of each text."""

import json
from pathlib import Path

import pytest

from spark_rtm.cli import main
from spark_rtm.errors import KnownError, find, known

TEXTS = json.loads(Path(__file__).with_name("known_errors.json").read_text(encoding="utf-8"))
IDS = [f"{number} {text['name']}" for number, text in enumerate(TEXTS)]
DESCRIPTIONS = {
    "the topic was deleted and created again": "OffsetOutOfRangeException",
    "two applications on one checkpoint": "CONCURRENT_STREAM_LOG_UPDATE",
    "rolling update started a second pod": "CONCURRENT_STREAM_LOG_UPDATE",
    "I changed the grouping columns": "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
    "I added an aggregate": "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
    "stateful operator was removed": "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
    "the metadata file is missing": "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
    "edited the offsets log, checksum": "ChecksumException",
    "state file is damaged": "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED",
    "class path without the connector's dependencies": "NoClassDefFoundError",
    "executors run another Python than the driver": "PYTHON_VERSION_MISMATCH",
    "disk is full": "No space left on device",
    "executor died, memory limit of the container": "ExecutorLostFailure",
    "idle connections of a gateway": "ms has passed since batch creation",
    "changed the number of shuffle partitions": "spark.sql.shuffle.partitions",
    "results are repeated after a restart": "repeated results end where a restart or a stop() happened",
    "offsets moved at a failover": "OffsetOutOfRangeException",
}


def test_at_least_forty_texts_are_known() -> None:
    """Each text has an origin, and most come from a run."""
    assert len(TEXTS) >= 40
    assert len([text for text in TEXTS if "OSS 4.3.0" in text["origin"]]) >= 40


@pytest.mark.proves("pasted errors")
@pytest.mark.parametrize("text", TEXTS, ids=IDS)
def test_text_leads_to_its_cause(text: dict[str, str]) -> None:
    """The first finding has the condition, and one of the findings states the cause."""
    found = find(text["text"])

    assert found, "nothing was found"
    assert text["condition"] == found[0].condition
    assert any(text["words"].lower() in each.fix.lower() for each in found if each.condition == text["condition"]), (
        found
    )


@pytest.mark.parametrize("condition", sorted({text["condition"] for text in TEXTS}))
def test_condition_alone_leads_to_its_cause(condition: str) -> None:
    """The name of a condition or class, or a message without one, is enough."""
    assert condition in [each.condition for each in find(condition)]


@pytest.mark.parametrize(("words", "condition"), DESCRIPTIONS.items())
def test_description_leads_to_its_cause(words: str, condition: str) -> None:
    """A description in words of one's own is among the findings."""
    assert condition in [each.condition for each in find(words)]


def test_remedy_is_text_without_marks(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints the fix without the marks of Markdown, and the page to read."""
    assert 0 == main(["errors", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"])

    shown = capsys.readouterr().out
    assert shown.startswith("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE (OSS 4.3.0)\n  The grouping columns changed.")
    assert "references/errors.md#checkpoint-and-state" in shown
    assert [] == [each.condition for each in known() if _has_marks(each)]


def _has_marks(each: KnownError) -> bool:
    return any(mark in each.fix for mark in ("`", "](", "]["))


def test_unknown_text_has_status_one(capsys: pytest.CaptureFixture[str]) -> None:
    """A text that no page explains names the page of symptoms."""
    assert 1 == main(["errors", "qwertz asdfgh"])
    assert "references/debugging.md" in capsys.readouterr().out
