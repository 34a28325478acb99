"""Pasted exception texts lead to their cause; `known_errors.json` names the origin of each text."""

import json
import re
from pathlib import Path

import pytest

from scripts.pack import files
from scripts.pack.checks.claims import claims
from spark_rtm.cli import main
from spark_rtm.errors import KnownError, find, known
from spark_rtm.text import markdown

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
    assert len(TEXTS) >= 40
    assert len([text for text in TEXTS if "OSS 4.3.0" in text["origin"]]) >= 40


@pytest.mark.proves("pasted errors")
@pytest.mark.parametrize("text", TEXTS, ids=IDS)
def test_text_leads_to_its_cause(text: dict[str, str]) -> None:
    found = find(text["text"])

    assert found, "nothing was found"
    assert text["condition"] == found[0].condition
    explained = [each.fix.lower() for each in found if each.condition == text["condition"]]
    assert any(all(part in fix for part in text["words"].lower().split(" … ")) for fix in explained), found


@pytest.mark.parametrize("condition", sorted({text["condition"] for text in TEXTS}))
def test_condition_alone_leads_to_its_cause(condition: str) -> None:
    assert condition in [each.condition for each in find(condition)]


@pytest.mark.parametrize(("words", "condition"), DESCRIPTIONS.items())
def test_description_leads_to_its_cause(words: str, condition: str) -> None:
    assert condition in [each.condition for each in find(words)]


def test_remedy_is_text_without_marks(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["errors", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"])

    shown = capsys.readouterr().out
    assert shown.startswith("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE (OSS 4.3.0)\n  The grouping columns changed.")
    assert "references/errors.md#checkpoint-and-state" in shown
    assert [] == [each.condition for each in known() if _has_marks(each)]


def _has_marks(each: KnownError) -> bool:
    return any(mark in each.fix for mark in ("`", "](", "]["))


def test_unknown_text_has_status_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == main(["errors", "qwertz asdfgh"])
    assert "references/debugging.md" in capsys.readouterr().out


def unquoted(page: str) -> list[str]:
    evidence = {claim.line: claim.targets for claim in claims(page)}
    recorded = "\n".join(text["text"] for text in TEXTS)
    own = "\n".join(path.read_text("utf-8") for path in (files.ROOT / "spark_rtm/realtime").rglob("*.scala"))
    missing = []
    for table in markdown.tables(page):
        for line, cells in table.rows if table.header[0].startswith("message") else ():
            tests = [files.ROOT / target.removeprefix("../") for target in evidence.get(line, ()) if "tests/" in target]
            proof = "\n".join([recorded, own, *(path.read_text("utf-8") for path in tests)])
            quoted = re.findall(r"`([^`]+)`", cells[0]) if tests else []
            missing += [text for text in quoted if not any(part in proof for part in parts(text))]
    return missing


def parts(message: str) -> list[str]:
    return [part.strip() for part in re.split(r"[…:]", message) if len(part.strip()) > 8] or [message]


@pytest.mark.parametrize("path", files.references(files.ROOT), ids=lambda path: path.stem)
def test_quoted_message_occurs_in_its_test_or_in_a_recorded_exception(path: Path) -> None:
    """A row whose test never compares the message would prove nothing."""
    assert [] == unquoted(path.read_text(encoding="utf-8"))
