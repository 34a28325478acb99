"""
Render the page of published measurements, with the charts and conditions of each measurement.

A measurement is a JSON file in `references/measured/`. Its charts are the SVG files with the same stem, or with a stem
that starts with the JSON file's stem and an underscore.
"""

import json
from pathlib import Path

from scripts.site import layout, tree


def page(root: Path) -> str:
    """Return the page of published measurements as Markdown."""
    parts = [
        f"{tree.FRONTMATTER.format(title='Measured')}# Measured\n",
        "A command in this repository draws each chart from the JSON file below it.",
        "The pages that cite a measurement explain its numbers.",
    ]
    for source in sorted((root / tree.MEASURED_DIR).glob("*.json")):
        charts = [path for path in sorted(source.parent.glob("*.svg")) if f"{path.stem}_".startswith(f"{source.stem}_")]
        if charts:
            parts += [f"\n## {source.stem.replace('_', ' ').capitalize()}\n", *(_figure(c, source) for c in charts)]
            conditions = json.loads(source.read_text(encoding="utf-8")).get("conditions", {}).items()
            texts = (f"{key.replace('_', ' ')}: {_text(value)}" for key, value in conditions)
            parts += [f"Conditions: {'; '.join(texts)}.\n"]
    return "\n".join(parts) + "\n"


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value) or "none"


def _figure(chart: Path, source: Path) -> str:
    width, height = layout.svg_size(chart.read_text(encoding="utf-8"))
    return (
        f'<figure class="measured"><img src="{chart.name}" width="{width}" height="{height}" '
        f'alt="Chart of {chart.stem}; its numbers are in {source.name}">'
        f'<figcaption><a href="{chart.name}">{chart.name}</a>, <a href="{source.name}">{source.name}</a>'
        f"</figcaption></figure>\n"
    )
