"""Fill the `since` column of the feature tables from the outcomes that `make radar` recorded."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from spark_rtm.text import markdown

DATA = "scripts/pack/tables/radar.json"
COLUMN = "since"
RUNS, UNKNOWN = "runs", "not observed"


def recorded(root: Path) -> dict[str, dict[str, str]]:
    """Return the recorded outcome of each table row, keyed by Spark version (oldest first) and then by row."""
    path = root / DATA
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def ordered(versions: Iterable[str]) -> list[str]:
    """Return Spark versions, sorted from oldest to newest."""
    return sorted(versions, key=lambda version: [int(part) for part in version.split(".")])


def since(outcomes: Mapping[str, str | None]) -> str:
    """
    Return the minor version since which a row has had its current outcome, or "-" if an outcome is missing.

    A Python exception in the probe, for example because a class has moved, is not an outcome of the engine.
    """
    known = (None if outcome and outcome.startswith(UNKNOWN) else outcome for outcome in outcomes.values())
    versions, runs = list(outcomes), [outcome and outcome.startswith(RUNS) for outcome in known]
    if None in runs:
        return "-"
    first = max((number for number, each in enumerate(runs, 1) if each != runs[-1]), default=0)
    return versions[first].rpartition(".")[0]


def with_since(root: Path, text: str) -> str:
    """Return a page with updated `since` columns. Without recorded outcomes, the page does not change."""
    known = recorded(root) if f" {COLUMN} |" in text else {}
    tables = [table for table in markdown.tables(text) if COLUMN in table.header] if known else []
    lines = text.splitlines(keepends=True)
    for table in tables:
        for number, cells in table.rows:
            value = since({version: known[version].get(cells[0]) for version in known})
            written = [*cells]
            written[table.header.index(COLUMN)] = value
            lines[number - 1] = f"| {' | '.join(written)} |\n"
    return "".join(lines)
