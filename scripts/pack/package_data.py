"""Render the data files of `spark_rtm` from the pages and measurements, which the wheel does not contain."""

import json
from collections.abc import Callable
from pathlib import Path

from scripts.pack import files
from spark_rtm import capacity
from spark_rtm.text import markdown


def sections_of_conditions(root: Path) -> str:
    """Return JSON with the section of an error page that reproduces each error condition."""
    sections: dict[str, str] = {}
    for path in files.references(root):
        text = path.read_text(encoding="utf-8")
        for fence in markdown.fences(text):
            condition = fence.options.get("raises")
            if condition and path.name.startswith("errors"):
                section = [heading for heading in markdown.headings(text) if heading.line < fence.line][-1]
                sections.setdefault(condition, f"{files.relative(root, path)}#{section.anchor}")
    return json.dumps(sections, indent=1, sort_keys=True) + "\n"


def cost_model(root: Path) -> str:
    """Return JSON with the cost model of the published runs."""
    content = json.loads((root / "references/measured/growth.json").read_text(encoding="utf-8"))
    return json.dumps(capacity.model_content(content), indent=1) + "\n"


RENDERERS: dict[str, Callable[[Path], str]] = {
    "spark_rtm/capacity.json": cost_model,
    "spark_rtm/prove/verdicts/sections.json": sections_of_conditions,
}
