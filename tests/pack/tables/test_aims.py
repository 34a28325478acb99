"""The table of aims shows the published measurements, and whether each aim is reached."""

from pathlib import Path
from typing import Any

import pytest

from scripts.pack.tables.aims import COPIED, HEADER, aims
from scripts.pack.tables.boundary import BOUNDARY
from scripts.pack.tables.other_engines import OTHER_ENGINES
from scripts.pack.tables.price import PRICE
from tests.pack.tables.published import publish

CONDITIONS = {"date": "2026-11-25", "repeats": 3, "interval_seconds": 12}
STATEFUL = {"workload": "stateful", "engine": "real-time"}


def publish_all(root: Path, *, wait_ms: float, tail_ms: float, cost: float, rate: float) -> None:
    """Write the three measurements from which the table is made."""
    cases: dict[str, list[dict[str, Any]]] = {
        BOUNDARY: [
            {"engine": "recommended", "boundaries": 4, "wait_mean_ms": wait_ms - 9, "wait_max_ms": wait_ms},
            {"engine": "short", "boundaries": 4, "wait_mean_ms": 50.4, "wait_max_ms": 60.4},
        ],
        OTHER_ENGINES: [{**STATEFUL, "p99.9_ms": tail_ms}],
        PRICE: [
            {**STATEFUL, "engine": "untouched", "cpu_seconds_per_million": cost + 9},
            {**STATEFUL, "engine": "all changes", "cpu_seconds_per_million": cost},
            {"workload": "stateless", "engine": "untouched", "cpu_seconds_per_million": 1},
        ],
    }
    runs = [{**STATEFUL, "p99.9_ms": tail_ms + offset} for offset in (0, 9, -9)]
    runs.append({"workload": "stateful", "engine": "Flink", "p99.9_ms": 1})
    publish(root, COPIED, {"rows": [{name: f"copied {name}" for name in HEADER}]})
    limits = [{"engine": "untouched", "sustained_rate": rate / 2}, {"engine": "all changes", "sustained_rate": rate}]
    steps = [
        {"engine": limit["engine"], "rate": limit["sustained_rate"], "p50_ms": 14, "p99_ms": 2_100} for limit in limits
    ]
    for name, own in cases.items():
        content = {"conditions": CONDITIONS, "cases": own, "runs": runs, "limits": limits, "steps": steps}
        publish(root, name, content)


@pytest.mark.parametrize(
    ("wait_ms", "tail_ms", "cost", "rate", "reached"),
    [
        pytest.param(80, 99.9, 399.9, 10_000, "yes", id="just-reached"),
        pytest.param(80.1, 100, 400, 9_999, "no", id="just-missed"),
    ],
)
def test_each_aim_is_reached_from_its_limit(
    tmp_path: Path, wait_ms: float, tail_ms: float, cost: float, rate: float, reached: str
) -> None:
    """A pause and a rate may equal their limits; the tail and the price must be lower."""
    publish_all(tmp_path, wait_ms=wait_ms, tail_ms=tail_ms, cost=cost, rate=rate)

    rows = [line.split(" | ") for line in aims(tmp_path, "").splitlines()[2:]]

    assert [*[reached] * 4, "copied reached"] == [row[2] for row in rows]


def test_rows_state_values_spread_and_command(tmp_path: Path) -> None:
    """
    The tail has the lowest and highest value of its own runs, and price and rate name the changes.

    The last rows are those that were copied by hand.
    """
    publish_all(tmp_path, wait_ms=138.4, tail_ms=120, cost=350.2, rate=12_000)

    pause, tail, price, rate, copied = aims(tmp_path, "").splitlines()[2:]

    assert "| 129 ms on average, 138 at most of 4 boundaries; *short*: 50 ms on average, 60 at most | no | 3 |" in pause
    spread = "120 ms (111 to 129; 0 of 3 runs below the aim)"
    assert f"trigger interval of 12 s | {spread} | no | 3 | `make bench-other-engines PUBLISH=1` |" in tail
    assert "| 350 CPU s with *all changes* | yes | 3 | `make bench-price PUBLISH=1` | 2026-11-25 |" in price
    latencies = "(p50 14 ms, p99 2,100 ms)"
    best, worst = "12,000 records/s with *all changes*", "6,000 records/s with *untouched*"
    assert f"| {best} {latencies}; {worst} {latencies} | yes |" in rate
    assert f"| {' | '.join(f'copied {name}' for name in HEADER)} |" == copied
