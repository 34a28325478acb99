"""The page's table of checkpoint storage shows the published runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.pack import files
from scripts.pack.tables.checkpoint_storage import STORAGE, pauses
from tests.pack.tables.published import publish

KINDS = ("local disk", "shared folder", "object store")
RUN: dict[str, Any] = {"storage": "local disk", "manager": "Manager", "results": 1_200, "differences": 0}
CONTENT: dict[str, Any] = {
    "conditions": {
        "date": "2026-11-24",
        "cores": 2,
        "java": "17.0.15",
        "java_options": "",
        "pyspark": "4.3.0",
        "kafka_connector": "4.2.0",
        "kafka_broker_and_clients": "4.4.0",
        "workers": 2,
        "partitions": 2,
        "rate": 20,
        "interval_seconds": 5,
        "repeats": 1,
        "warm_up_seconds": 20,
        "duration_seconds": 40,
        "query": "events_to_attributed",
    },
    "runs": [{**RUN, "foreign_cores": 0.04}, {**RUN, "foreign_cores": 0.21}],
    "cases": [{**RUN, "boundaries": 9, "pause_median_ms": 1_234, "pause_max_ms": 2_345}],
}


def test_table_shows_the_pauses_of_the_json(tmp_path: Path) -> None:
    """Each case is a row with its number of boundaries, and the conditions name the load by other programs."""
    publish(tmp_path, STORAGE, CONTENT)

    text = pauses(tmp_path, "")

    assert "| local disk | `Manager` | 9 | 1,234 / 2,345 | 0 of 1,200 |" in text
    assert "a standalone cluster of 2 workers" in text
    assert "Other programs used at most 0.21 cores." in text


def test_missing_runs_stop_the_page(tmp_path: Path) -> None:
    """The message names the command that measures them."""
    with pytest.raises(ValueError, match="make bench-checkpoint-storage PUBLISH=1"):
        pauses(tmp_path, "")


def test_published_runs_are_valid_and_of_this_spark() -> None:
    """Each kind of storage has several boundaries and no wrong result, and the version is the pinned one."""
    content = json.loads((files.ROOT / STORAGE).read_text(encoding="utf-8"))
    pinned = (files.ROOT / "constraints.txt").read_text(encoding="utf-8")
    boundaries = dict.fromkeys(KINDS, 0)
    for case in content["cases"]:
        boundaries[next(kind for kind in boundaries if case["storage"].startswith(kind))] += case["boundaries"]

    assert f"pyspark=={content['conditions']['pyspark']}" in pinned
    assert min(boundaries.values()) >= 5
    assert 0 == sum(case["differences"] for case in content["cases"])
