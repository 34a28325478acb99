"""Fill the column `since` of the feature tables from the outcomes that `make radar` recorded."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from spark_rtm.text import markdown

DATA = "scripts/pack/tables/radar.json"
COLUMN = "since"
RUNS = "runs"


def recorded(root: Path) -> dict[str, dict[str, str]]:
    """Return the outcome of each row, keyed by version (the oldest first) and row."""
    path = root / DATA
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def ordered(versions: Iterable[str]) -> list[str]:
    """Return Spark versions, the oldest first."""
    return sorted(versions, key=lambda version: [int(part) for part in version.split(".")])


def since(outcomes: Mapping[str, str | None]) -> str:
    """Return the first version that already had the current outcome of a row, or "-" if a version is not recorded."""
    versions, runs = list(outcomes), [outcome and outcome.startswith(RUNS) for outcome in outcomes.values()]
    if None in runs:
        return "-"
    first = max((number for number, each in enumerate(runs, 1) if each != runs[-1]), default=0)
    return versions[first].rpartition(".")[0]


def with_since(root: Path, text: str) -> str:
    """Return a page with the current cells of its columns `since`. An installed copy has no outcomes."""
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
