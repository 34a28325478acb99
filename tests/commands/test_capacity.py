import json
import math
from pathlib import Path

import pytest

from scripts import skills
from spark_rtm.commands.capacity import COMMANDS, Demand, capacity
from tests.benchmarks.growth.synthetic import TRUTH, content

OPTIONS = "--rate 1500 --record-bytes 500 --keys 5000 --state-keys 50000 --interval 7 --price 0.5"
DEMAND = Demand(1_500, 500, 5_000, 50_000, 7)


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    path = tmp_path / "growth.json"
    path.write_text(json.dumps(content()))
    return path


def test_capacity_contains_the_costs_behind_the_runs(measured: Path) -> None:
    """The model fitted to known costs returns these costs for new inputs; slots and replay follow from the demand."""
    needed = capacity(json.loads(measured.read_text()), DEMAND)

    inputs = {"rate": 1_500, "partitions": 1, "keys": 5_000, "state_keys": 50_000, "record_bytes": 500, "queries": 1}
    known = {name: TRUTH.predict(name, inputs) for name in ("busy_cores", "memory_mb", "pause_ms")}
    assert known == pytest.approx({name: getattr(needed, name) for name in known}, rel=1e-3)
    assert (1, 2, ()) == (needed.partitions, needed.slots, needed.outside)
    assert 1_500 * (7 + known["pause_ms"] / 1000) == pytest.approx(needed.replay_records, rel=1e-3)
    assert 1e6 * known["busy_cores"] / 1_500 == pytest.approx(needed.cpu_seconds_per_million, rel=1e-3)


def test_command_prints_needs_errors_and_price(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == skills.main(["capacity", f"--measured={measured}", *OPTIONS.split()])

    output, warnings = capsys.readouterr()
    lines = {line[:18].strip(): line[18:] for line in output.splitlines()}
    needed = capacity(content(), DEMAND)
    assert "" == warnings
    assert "2 = 1 x (1 source + 1 state)" == lines["task slots"]
    assert f"{needed.busy_cores:.2f} (largest error in 4 runs that were not fitted: 0%)" == lines["busy cores"]
    assert math.isclose(needed.cpu_seconds_per_million / 3600 * 0.5, float(lines["price"].split()[0]), rel_tol=1e-3)
    assert "2026-11-25 on 2 cores, PySpark 4.3.0" == lines["measured"]


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        ("--rate 50", "50 records/s are outside the measured range of 100 to 4,000"),
        ("--rate 4000 --partitions 1", "use 2 source partitions"),
        ("--rate 1000 --interval 60", "no published run used a trigger interval of 60 s (all used 7 s)"),
    ],
)
def test_inputs_outside_of_the_range_are_named(
    measured: Path, capsys: pytest.CaptureFixture[str], options: str, warning: str
) -> None:
    assert 0 == skills.main(["capacity", f"--measured={measured}", *options.split()])

    output, warnings = capsys.readouterr()
    assert output.startswith("source partitions")
    assert warning in warnings


@pytest.mark.parametrize("example", COMMANDS[0].examples)
def test_examples_of_help_are_inside_the_range(capsys: pytest.CaptureFixture[str], example: str) -> None:
    assert (0, "") == (skills.main(example.split()), capsys.readouterr().err)
