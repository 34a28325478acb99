"""Render the data files of `spark_rtm` from the pages and measurements, which the wheel does not contain."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from scripts.pack import files, parsed
from spark_rtm import capacity
from spark_rtm.text import markdown


def sections_of_conditions(root: Path) -> str:
    """Return JSON with the section of an error page that reproduces each error condition."""
    sections: dict[str, str] = {}
    for condition, path, section in reproduced_conditions(root):
        if path.name.startswith("errors"):
            sections.setdefault(condition, f"{files.relative(root, path)}#{section.anchor}")
    return json.dumps(sections, indent=1, sort_keys=True) + "\n"


def reproduced_conditions(root: Path) -> Iterator[tuple[str, Path, markdown.Heading]]:
    """Yield each error condition that a fence raises, its page, and the heading of its section."""
    for path in files.references(root):
        text = path.read_text(encoding="utf-8")
        for fence in parsed.fences(text):
            if condition := fence.options.get("raises"):
                yield condition, path, [one for one in parsed.headings(text) if one.line < fence.line][-1]


def cost_model(root: Path) -> str:
    """Return JSON with the cost model of the published runs."""
    content = json.loads((root / "references/measured/growth.json").read_text(encoding="utf-8"))
    return json.dumps(capacity.model_content(content), indent=1) + "\n"


RENDERERS: dict[str, Callable[[Path], str]] = {
    "spark_rtm/capacity.json": cost_model,
    "spark_rtm/prove/verdicts/sections.json": sections_of_conditions,
}
