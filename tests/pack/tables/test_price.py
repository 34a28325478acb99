"""The tables of the page about prices show the published JSON."""

from pathlib import Path
from typing import Any

import pytest

from scripts.pack.tables.price import PRICE, changes, limits
from tests.pack.tables.published import publish
from tests.pack.tables.test_checkpoint_storage import CONTENT as OTHER

CASE = {"workload": "stateful", "p50_ms": 2.04, "p99_ms": 40.4, "p50_ratio": 1.0, "p99_ratio": 1.0}
CONTENT: dict[str, Any] = {
    "conditions": {**OTHER["conditions"], "long_warm_up_seconds": 90},
    "runs": [
        {"workload": "stateful", "engine": "untouched", "cpu_seconds_per_million": 500.2, "foreign_cores": 0.1},
        {"workload": "stateful", "engine": "untouched", "cpu_seconds_per_million": 524.4, "foreign_cores": 0.1},
    ],
    "cases": [
        {**CASE, "engine": "untouched", "cpu_seconds_per_million": 512.3, "cpu_ratio": 1.0},
        {**CASE, "engine": "linger.ms = 5", "cpu_seconds_per_million": 409.6, "cpu_ratio": 0.8},
    ],
    "combined": {"stateful": ["linger.ms = 5", "shuffle.partitions = 1"]},
    "limits": [
        {"workload": "stateful", "engine": "untouched", "sustained_rate": 6_000.0},
        {"workload": "stateful", "engine": "all changes that helped", "sustained_rate": 16_000.0},
    ],
    "steps": [
        {"engine": "untouched", "rate": 6_000, "sustained": True, "p50_ms": 9.34, "p99_ms": 257.3},
        {"engine": "untouched", "rate": 8_000, "sustained": False, "p50_ms": 7_125.8, "p99_ms": 9_999.9},
        {"engine": "all changes that helped", "rate": 8_000.0, "sustained": True, "p50_ms": 11.4, "p99_ms": 288.2},
    ],
}


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Return a folder with published prices."""
    publish(tmp_path, PRICE, CONTENT)
    return tmp_path


def test_cheapest_change_is_the_first_row(published: Path) -> None:
    """Each change is a row with its price and its latency, and the combined changes are named."""
    text = changes(published, "stateful")

    assert text.startswith("Measured with `make bench-price PUBLISH=1` on 2026-11-24.")
    assert "| linger.ms = 5 | 410 | 0.80x | 2.0 | 40 | 1.00x | 1.00x |\n| untouched | 512 | 1.00x |" in text
    assert "2 equal runs of the untouched query needed 500 to 524 CPU s, so differences below 5% show" in text
    assert "were combined: linger.ms = 5; shuffle.partitions = 1. If two of them" in text


def test_workload_without_a_measurement_is_reported(published: Path) -> None:
    """A block about an unknown workload names those that were measured."""
    with pytest.raises(ValueError, match="'stateless' was not measured; use one of stateful"):
        changes(published, "stateless")


def test_each_rate_of_the_search_is_a_row(published: Path) -> None:
    """A rate at which a query fell behind is marked, and one that was not tried is empty."""
    assert limits(published, "").splitlines() == [
        "| records/s, stateful | untouched | all changes that helped |",
        "| --- | --- | --- |",
        "| 6,000 | p50 9.3 ms, p99 257 ms | - |",
        "| 8,000 | fell behind | p50 11 ms, p99 288 ms |",
    ]
