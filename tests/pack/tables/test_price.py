"""The blocks of the page about prices are empty before the first publication, and show the JSON afterwards."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.pack.tables.price import PRICE, changes, chart, limits
from tests.pack.tables.test_checkpoint_storage import CONTENT as OTHER

CASE = {"workload": "stateful", "p50_ms": 2.04, "p99_ms": 40.4, "p50_ratio": 1.0, "p99_ratio": 1.0}
CONTENT: dict[str, Any] = {
    "conditions": OTHER["conditions"],
    "runs": OTHER["runs"],
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
        {"engine": "untouched", "sustained": False},
        {"engine": "all changes that helped", "sustained": True},
    ],
}


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Return a folder with published prices."""
    path = tmp_path / PRICE
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(CONTENT))
    return tmp_path


def test_blocks_are_empty_before_the_publication(tmp_path: Path) -> None:
    """The page can exist before its measurement."""
    assert ["", "", ""] == [changes(tmp_path, "stateful"), limits(tmp_path, ""), chart(tmp_path, "")]


def test_cheapest_change_is_the_first_row(published: Path) -> None:
    """Each change is a row with its price and its latency, and the combined changes are named."""
    text = changes(published, "stateful")

    assert text.startswith("Measured with `make bench-price PUBLISH=1` on 2026-11-24.")
    assert "| linger.ms = 5 | 410 | 0.80x | 2.0 | 40 | 1.00x | 1.00x |\n| untouched | 512 | 1.00x |" in text
    assert text.endswith("were combined: linger.ms = 5, shuffle.partitions = 1.\n")


def test_workload_without_a_measurement_is_reported(published: Path) -> None:
    """A block about an unknown workload names those that were measured."""
    with pytest.raises(ValueError, match="'stateless' was not measured; use one of stateful"):
        changes(published, "stateless")


def test_limit_without_a_failed_rate_is_a_lower_bound(published: Path) -> None:
    """If the query sustained every rate of the search, its limit may be higher."""
    untouched, combined = limits(published, "").splitlines()

    assert "sustains 6,000 records/s" in untouched
    assert "sustains at least 16,000 records/s" in combined
    assert "measured/price.svg" in chart(published, "")
