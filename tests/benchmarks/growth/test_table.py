from pathlib import Path

import pytest

from benchmarks.growth.table import LIMITS, MEASURED, million, reached_at
from benchmarks.harness.benchmark import write_json
from spark_rtm.capacity import Demand, capacity
from tests.benchmarks.growth.synthetic import content

PAGE = "references/growth.md"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    write_json(content(), tmp_path / MEASURED)
    return tmp_path


def test_million_records_are_computed_from_the_model(published: Path) -> None:
    text = million(published, "")

    needed = capacity(content(), Demand(1_000_000, interval_seconds=7))
    assert f"| 1,000,000 | {needed.partitions:,} | {needed.slots:,} | {needed.busy_cores:,.1f} |" in text
    assert 500 == needed.partitions
    assert ["yes", "no"] == [line.split(" | ")[-1].strip(" |") for line in text.splitlines() if "1,000" in line[:9]]


def test_first_limit_is_the_one_with_the_lowest_rate(published: Path) -> None:
    """One partition is measured up to 2,000 records/s; the limits follow in the order of their rates."""
    reached = [reached_at(content(), Demand(1_000, interval_seconds=7), limit) for limit in LIMITS]

    assert reached[0] == pytest.approx(2_000, rel=0.01)
    for rate, limit in zip(reached[1:], LIMITS[1:], strict=True):
        assert rate is not None
        below, above = (Demand(rate * factor, interval_seconds=7) for factor in (0.98, 1.0))
        states = [limit.is_reached(capacity(content(), demand), demand) for demand in (below, above)]
        assert [False, True] == states
    text = million(published, "")
    assert f"| 2,000 | {LIMITS[0].name} |" in text
