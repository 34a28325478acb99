"""The block about one boundary shows the published JSON."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.boundary.phases import PHASES, UNEXPLAINED
from scripts.pack.tables.boundary import BOUNDARY, GROUPS, phases
from tests.pack.tables.published import publish
from tests.pack.tables.test_checkpoint_storage import CONTENT as OTHER

CASE: dict[str, Any] = {
    "engine": "recommended",
    "boundaries": 5,
    "changed": {},
    "wait_mean_ms": 150.4,
    "wait_max_ms": 1_200.0,
    "mean_ms": {**dict.fromkeys(PHASES, 9.0), UNEXPLAINED: 6.4},
}
CHANGED = {**CASE, "engine": "short", "changed": {"spark.a": "1"}}
CONTENT = {
    "conditions": OTHER["conditions"],
    "runs": OTHER["runs"],
    "cases": [CASE, {**CASE, "engine": "short", "changed": {"spark.a": "1"}}],
}


def test_missing_measurement_is_refused_with_its_command(tmp_path: Path) -> None:
    """Without the JSON file the error names the command that writes it."""
    command = "create it with `make bench-boundary PUBLISH=1`"
    with pytest.raises(ValueError, match=f"boundary.json does not exist; {command}"):
        phases(tmp_path, "")


def test_table_shows_the_phases_and_the_unexplained_rest(tmp_path: Path) -> None:
    """Each case is a row with its waits and the means of the phases, and the chart is shown below."""
    publish(tmp_path, BOUNDARY, CONTENT)

    text = phases(tmp_path, "")

    assert text.startswith("Measured with `make bench-boundary PUBLISH=1` on 2026-11-24.")
    assert "| settings | boundaries | longest wait: mean / max | append the record |" in text
    assert "| recommended | 5 | 150 / 1,200 | 9 | 18 | 18 | 9 | 9 | 18 | 36 | 18 | 18 | 6 |" in text
    assert "The row *short* is an experiment that changes `spark.a` = 1; measure it before you use it." in text
    assert "measured/boundary.svg" in text


def test_columns_cover_each_phase_once() -> None:
    """The columns add up to the wait, because no phase is missing and none counts twice."""
    assert sorted([*PHASES, UNEXPLAINED]) == sorted(name for names in GROUPS.values() for name in names)
