"""The README's table of the demonstration shows the published run."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from scripts.pack.tables.pipeline.demo import DEMO, comparison
from tests.pack.tables.published import publish

ROW = {"hop": "end to end", "records": 9000}
CONTENT: dict[str, Any] = {
    "conditions": {
        "command": "make demo COMPARE=1 PUBLISH=1",
        "date": "2026-11-23",
        "cores": 2,
        "memory_gib": 24,
        "pyspark": "4.3.0",
        "kafka_connector": "4.2.0",
        "kafka_broker": "4.4.0",
        "java": "17.0.15",
        "rate": 150,
        "duration_seconds": 60,
        "warm_up_seconds": 25,
        "interval_seconds": 15,
    },
    "rows": [
        {"mode": "real-time", "hop": "kafka_to_events", "p50_ms": 1, "p90_ms": 1, "p99_ms": 1, "max_ms": 1},
        {"mode": "real-time", **ROW, "p50_ms": 5, "p90_ms": 28, "p99_ms": 227, "max_ms": 418},
        {"mode": "micro-batch", **ROW, "p50_ms": 1710, "p90_ms": 2413, "p99_ms": 3052, "max_ms": 3386},
    ],
    "over_delivered": {"goal": 1006, "real_time": 3, "micro_batch": 49},
    "boundaries_ms": {"kafka_to_events": [1800, 140], "events_to_attributed": [900, 210]},
    "cpu": {"real_time": 1.44, "micro_batch": None},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a pack with a published run."""
    publish(tmp_path, DEMO, CONTENT)
    return tmp_path


def test_table_shows_both_modes_and_their_ratios(root: Path) -> None:
    """Latencies are those of both queries together, and each ratio follows from the two rows above it."""
    text = comparison(root, "")

    assert "| real-time mode, a commit every 15 s | 5 | 28 | 227 | 418 |" in text
    assert "| micro-batch mode, no pause between batches | 1,710 | 2,413 | 3,052 | 3,386 |" in text
    assert "| speed-up | 340x | 86x | 13x | 8.1x |" in text
    assert "| impressions delivered beyond a combined goal of 1,006 | 3 | 49 |" in text
    assert "Boundaries of `kafka_to_events`, in ms: 1800, 140.\n" in text
    assert "| CPU cores used by all queries, the broker and the database | 1.4 | - |" in text
    assert text.startswith(
        "Measured with `make demo COMPARE=1 PUBLISH=1` on 2026-11-23: 2 cores, 24 GiB, PySpark 4.3.0"
    )


def test_load_of_the_micro_batch_run_is_stated_beside_the_speed_up(root: Path) -> None:
    """The README says that a speed-up over a run that used all cores includes the wait for a core."""
    loaded = {**CONTENT, "cpu": {"real_time": 1.44, "micro_batch": 1.84}}
    assert "also waited for a free core" not in comparison(root, "")

    (root / DEMO).write_text(json.dumps(loaded))

    assert "The micro-batch run used 1.8 of 2 cores. Its records also waited for a free core" in comparison(root, "")


def test_changed_number_changes_the_table(root: Path) -> None:
    """The table is not a constant."""
    before, changed = comparison(root, ""), copy.deepcopy(CONTENT)
    changed["rows"][1]["p99_ms"] = 228
    (root / DEMO).write_text(json.dumps(changed))

    assert before != comparison(root, "")


def test_missing_measurement_names_its_command(tmp_path: Path) -> None:
    """The message tells how to write the file."""
    with pytest.raises(ValueError, match=r"demo\.json does not exist; create it with `make demo COMPARE=1 PUBLISH=1`"):
        comparison(tmp_path, "")
