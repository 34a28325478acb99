from pathlib import Path

import pytest

from benchmarks.growth.table import LIMITS, MEASURED, million, reached_at
from benchmarks.harness.benchmark import write_json
from spark_rtm.capacity import Demand, capacity
from tests.benchmarks.growth.synthetic import content


def test_million_records_are_computed_from_the_model(tmp_path: Path) -> None:
    write_json(content(), tmp_path / MEASURED)

    text = million(tmp_path, "")

    needed = capacity(content(), Demand(1_000_000, interval_seconds=7))
    assert f"| 1,000,000 | {needed.partitions:,} | {needed.slots:,} | {needed.busy_cores:,.1f} |" in text
    assert 500 == needed.partitions
    # One partition is measured up to 2,000 records/s.
    assert f"| 2,000 | {next(iter(LIMITS))} |" in text


@pytest.mark.parametrize("name", LIMITS)
def test_limit_is_not_reached_below_its_rate(name: str) -> None:
    rate = reached_at(content(), Demand(1_000, interval_seconds=7), name)

    assert rate is not None
    demands = (Demand(rate * factor, interval_seconds=7) for factor in (0.98, 1.0))
    assert [False, True] == [LIMITS[name](capacity(content(), demand), demand) for demand in demands]
