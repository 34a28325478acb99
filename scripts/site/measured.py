"""
Show every committed measurement: its chart, its conditions, and its numbers as tables.

The root folder arrives; a page leaves. A measurement is an SVG and a JSON of the same name in `references/measured/`;
the JSON has an object `conditions` and lists of equal rows.
"""

import json
import re
from pathlib import Path
from typing import Any

from scripts.site import tree

_SIZE = re.compile(r'viewBox="[-\d.]+ [-\d.]+ (?P<width>[\d.]+) (?P<height>[\d.]+)"')


def page(root: Path) -> str:
    """Return the page of all measurements."""
    parts = [
        # The search mixes words up that share an index with thousands of numbers, and then finds nothing for some.
        f"{tree.FRONT.format(title='Measured')}# Measured\n",
        "Each chart is drawn from the JSON of the same name by a command of this repository.",
        "What the numbers mean is said on the pages that cite them.",
    ]
    for chart in sorted((root / tree.MEASURED).glob("*.svg")):
        numbers = json.loads(chart.with_suffix(".json").read_text(encoding="utf-8"))
        parts += [f"\n## {chart.stem.replace('_', ' ').capitalize()}\n", _figure(chart), _conditions(numbers)]
        parts += [_table(chart.stem, name, rows) for name, rows in numbers.items() if _is_table(rows)]
    return "\n".join(parts) + "\n"


def _figure(chart: Path) -> str:
    size = _SIZE.search(chart.read_text(encoding="utf-8"))
    if not size:
        raise ValueError(f"{chart.name} has no viewBox, so the page cannot keep room for it; draw it with one")
    return (
        f'<figure class="measured"><img src="{chart.name}" width="{float(size["width"]):.0f}" '
        f'height="{float(size["height"]):.0f}" alt="Chart of {chart.stem}; its numbers are in the tables below">'
        f'<figcaption><a href="{chart.name}">{chart.name}</a>, <a href="{chart.stem}.json">{chart.stem}.json</a>'
        f"</figcaption></figure>\n"
    )


def _conditions(numbers: dict[str, Any]) -> str:
    said = [f"{name.replace('_', ' ')} {value}" for name, value in numbers.get("conditions", {}).items()]
    return f"Measured with: {', '.join(said)}.\n" if said else ""


def _is_table(rows: object) -> bool:
    return isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) for row in rows)


def _table(chart: str, name: str, rows: list[dict[str, Any]]) -> str:
    columns = list(rows[0])
    header = "".join(f'<th scope="col">{column.replace("_", " ")}</th>' for column in columns)
    cells = ["".join(f"<td>{row.get(column, '')}</td>" for column in columns) for row in rows]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return (
        f"<details><summary>Numbers of {chart}: {name}, {len(rows)} rows</summary>"
        f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table></details>\n"
    )
