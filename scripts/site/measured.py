"""
Render the page of published measurements, with the charts and conditions of each measurement.

A measurement is a JSON file in `references/measured/`. Its charts are the SVG files whose stem is the same, or starts
with the stem of the JSON file and an underscore. An SVG file that fits several JSON files belongs to the one with the
longest stem.
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
    return "\n".join(parts) + "\n"


def _owner(chart: Path, sources: Sequence[Path]) -> Path | None:
    """Return the JSON file to which a chart belongs, or None if no file fits."""
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
        f'height="{float(size["height"]):.0f}" alt="Chart of {chart.stem}; its numbers are in {source.name}">'
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
