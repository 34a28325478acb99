"""
Render the page of published measurements: chart, conditions and numbers of each.

A measurement is a JSON file in `references/measured/` with SVG files of the same stem, or of this stem and an
underscore. If several JSON files fit, the SVG file belongs to the longest stem. The JSON contains an object
`conditions` and lists of rows with equal keys.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.site import tree

_SIZE = re.compile(r'viewBox="[-\d.]+ [-\d.]+ (?P<width>[\d.]+) (?P<height>[\d.]+)"')


def page(root: Path) -> str:
    """Return the page of published measurements as Markdown."""
    parts = [
        # The search index excludes this page. With the thousands of numbers on the page, the search would find nothing
        # for some words.
        f"{tree.FRONTMATTER.format(title='Measured')}# Measured\n",
        "A command in this repository draws each chart from the JSON file below it.",
        "The pages that cite a measurement explain its numbers.",
    ]
    sources = sorted((root / tree.MEASURED_DIR).glob("*.json"))
    for source in sources:
        charts = [chart for chart in sorted(source.parent.glob("*.svg")) if _owner(chart, sources) == source]
        if not charts:
            continue
        content = json.loads(source.read_text(encoding="utf-8"))
        parts += [f"\n## {source.stem.replace('_', ' ').capitalize()}\n"]
        parts += [*(_figure(chart, source) for chart in charts), _conditions(content)]
        parts += [_table(source.stem, name, rows) for name, rows in content.items() if _is_table(rows)]
    return "\n".join(parts) + "\n"


def _owner(chart: Path, sources: Sequence[Path]) -> Path | None:
    """Return the JSON file of a chart."""
    owners = [source for source in sources if f"{chart.stem}_".startswith(f"{source.stem}_")]
    return max(owners, key=lambda source: len(source.stem), default=None)


def _figure(chart: Path, source: Path) -> str:
    size = _SIZE.search(chart.read_text(encoding="utf-8"))
    if not size:
        raise ValueError(
            f"{chart.name} has no viewBox, so the page cannot reserve space for the chart; add a viewBox to the SVG"
        )
    return (
        f'<figure class="measured"><img src="{chart.name}" width="{float(size["width"]):.0f}" '
        f'height="{float(size["height"]):.0f}" alt="Chart of {chart.stem}; its numbers are in the tables below">'
        f'<figcaption><a href="{chart.name}">{chart.name}</a>, <a href="{source.name}">{source.name}</a>'
        f"</figcaption></figure>\n"
    )


def _conditions(content: dict[str, Any]) -> str:
    conditions = [f"{name.replace('_', ' ')}: {_text(value)}" for name, value in content.get("conditions", {}).items()]
    return f"Conditions: {'; '.join(conditions)}.\n" if conditions else ""


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value) or "none"


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
