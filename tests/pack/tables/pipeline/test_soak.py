"""The table of the soak shows the numbers of its JSON."""

from pathlib import Path
from typing import Any

import pytest

from scripts.pack.tables.pipeline.soak import SOAK, soak
from tests.pack.tables.published import publish

GROWTH = {"minutes": [1300.0, 1930.6, 1400.0], "level": 1375.4, "per_hour": 0.4, "trend": "steady"}
EXPECTED = {"trend": "grows as expected", "cause": "the window is long"}
CONTENT: dict[str, Any] = {
    "conditions": {
        "command": "make soak PUBLISH=1",
        "date": "2026-11-24",
        "cores": 2,
        "pyspark": "4.3.0",
        "kafka_connector": "4.2.0",
        "kafka_broker_and_clients": "4.4.0",
        "java": "17.0.15",
        "rate": 60,
        "duration_seconds": 7200,
        "interval_seconds": 15,
        "hot_campaign_share": 0.4,
    },
    "records": 432_750,
    "differences": 0,
    "foreign_cores": [0.2, 1.14],
    "growth": [
        {**GROWTH, "title": "memory, MiB", "part": "Spark"},
        {**GROWTH, "title": "state rows", "part": "credit", "per_hour": 9000, **EXPECTED},
        {**GROWTH, "title": "latency, ms", "part": "p50_ms", "level": 5, "per_hour": -0.6, "trend": "falls"},
        {**GROWTH, "title": "checkpoint size, MiB", "part": "credit", "per_hour": -0.03},
    ],
}


def test_table_shows_level_peak_growth_and_verdict(tmp_path: Path) -> None:
    """Each resource has a row, and the sentences above state the load and the load by other programs."""
    publish(tmp_path, SOAK, CONTENT)

    text = soak(tmp_path, "")

    assert "Load: 2.0 hours at 60 records/s, 40% of the requests for one campaign, a commit every 15 s; " in text
    assert "432,750 records, 0 differences from the replay.\nOther programs used 0.2 to 1.1 cores.\n" in text
    assert "| memory, MiB | Spark | 1,375 | 1,931 | +0.4 | steady |" in text
    assert "| state rows | credit | 1,375 | 1,931 | +9,000 | grows as expected: the window is long |" in text
    assert "| latency, ms | p50 | 5.0 | 1,931 | -0.6 | falls |" in text
    assert "| checkpoint size, MiB | credit | 1,375 | 1,931 | 0.0 | steady |" in text


def test_missing_run_names_its_command(tmp_path: Path) -> None:
    """A page without the JSON cannot be generated."""
    with pytest.raises(ValueError, match=r"soak\.json does not exist; create it with `make soak PUBLISH=1`"):
        soak(tmp_path, "")
