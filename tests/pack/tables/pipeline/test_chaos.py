"""The table of faults adds up all published runs, and shows what was lost, wrong or not healed."""

import copy
from pathlib import Path
from typing import Any

import pytest

from scripts.pack.tables.pipeline.chaos import CHAOS, faults
from tests.pack.tables.published import publish

RUN: dict[str, Any] = {
    "command": "make chaos SEED=1 PUBLISH=1",
    "date": "2026-11-23",
    "cores": 2,
    "load_average": 9.5,
    "memory_gib": 24,
    "pyspark": "4.3.0",
    "kafka_connector": "4.2.0",
    "kafka_broker": "4.4.0",
    "java": "17.0.15",
    "seed": 1,
    "records": 6000,
    "results": 5000,
    "incidents": [
        {"fault": "kill-broker", "seconds": 8.2, "replayed": 0},
        {"fault": "kill-driver", "seconds": 20.0, "replayed": 900},
        {"fault": "kill-driver", "seconds": 31.0, "replayed": 700},
    ],
    "differences": [{"fault": "kill-broker", "lost": 0, "wrong": 0}, {"fault": "kill-driver", "lost": 0, "wrong": 0}],
}
CONTENT: dict[str, Any] = {
    "kinds": {"kill-broker": "kill -9 of the broker", "kill-driver": "kill -9", "fill-disk": "a full disk"},
    "runs": [
        RUN,
        {
            **copy.deepcopy(RUN),
            "command": "make chaos SEED=2 PUBLISH=1",
            "seed": 2,
            "date": "2026-11-24",
            "load_average": 2,
        },
    ],
}


def rendered(tmp_path: Path, content: dict[str, Any]) -> str:
    """Return the table of this content."""
    publish(tmp_path, CHAOS, content)
    return faults(tmp_path, "")


def test_table_adds_up_all_runs(tmp_path: Path) -> None:
    """Each kind has one row with its number, times and replayed records; a kind that never came has none."""
    text = rendered(tmp_path, CONTENT)

    assert "| `kill-broker`: kill -9 of the broker | 2 | 8.2 | 8.2 | 0 | 0 | 0 |" in text
    assert "| `kill-driver`: kill -9 | 4 | 25.5 | 31.0 | 3,200 | 0 | 0 |" in text
    assert "fill-disk" not in text
    assert text.startswith("Measured on 2026-11-23 and 2026-11-24: 2 cores, 24 GiB, PySpark 4.3.0")
    assert "The load average over 15 minutes, which includes the runs themselves, was 2 to 9.5." in text
    assert "In all: 6 faults of 2 seeds in 2 runs, 12,000 records, 10,000 results compared" in text
    assert "0 lost, 0 wrong: `make chaos SEED=1 PUBLISH=1`; `make chaos SEED=2 PUBLISH=1`." in text


def test_lost_wrong_and_unhealed_faults_are_shown(tmp_path: Path) -> None:
    """The table is not a constant."""
    content = copy.deepcopy(CONTENT)
    content["runs"][0]["incidents"][0]["seconds"] = None
    content["runs"][1]["differences"][1] = {"fault": "kill-driver", "lost": 3, "wrong": 1}

    text = rendered(tmp_path, content)

    assert "| `kill-broker`: kill -9 of the broker | 2 | - | not healed | 0 | 0 | 0 |" in text
    assert "| `kill-driver`: kill -9 | 4 | 25.5 | 31.0 | 3,200 | 3 | 1 |" in text
    assert "3 lost, 1 wrong: `make" in text


def test_missing_runs_name_the_command_that_writes_them(tmp_path: Path) -> None:
    """Without the file, the error says how to create it."""
    with pytest.raises(ValueError, match="create it with `make chaos PUBLISH=1`"):
        faults(tmp_path, "")
