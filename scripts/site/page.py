"""
Turn a page of the repository into what mkdocs renders: links to sources, fences with their fate, tools and charts.

The text of a page and its path arrive; Markdown leaves. Pages stay right as raw Markdown, so nothing here is needed
to read them.
"""

import os
import re
from pathlib import Path

from scripts.pack import files
from scripts.site import chart, error_finder, tree
from scripts.text import markdown

TOOLS = Path(__file__).with_name("tools")
_TOOL = re.compile(r"^<!-- site: (?P<name>[\w-]+) -->$", re.MULTILINE)
_FATES = {
    "raises": "fails with {}",
    "excerpt": "{}",
    "requires": "needs {}",
    "mode": "{} mode",
}
_DOORS = """
<div class="doors" markdown>

- **Build a query**

    [Real-time mode](references/real_time_mode.md) in one page, [what is allowed](references/sources_sinks_operators.md)
    with Python and SQL on each engine, the [slot calculator](references/slot_calculator.md).

- **Fix an error**

    Paste it into the [error finder](references/error_finder.md), or look up its
    [condition](references/errors.md#all-conditions) or [symptom](references/errors.md#symptoms-without-an-exception).

- **Measure latency**

    [What latency is made of](references/latency.md) and how to lower it, and
    [what was measured](references/measured/index.md).

</div>
"""


def for_site(root: Path, name: str, text: str) -> str:
    """Return the Markdown of the page `name` as mkdocs gets it."""
    lines = text.splitlines()
    if name in map(str, (files.relative(root, page) for page in tree.pages(root))):
        _link_sources(root, name, lines)
        _title_fences(lines)
    text = "\n".join(lines) + "\n"
    text = _TOOL.sub(lambda match: tool(root, match["name"]), text)
    return _with_doors(text) if name == "README.md" else text


def tool(root: Path, name: str) -> str:
    """Return the form of a tool; its data is part of it, so that it works without a server."""
    form = (TOOLS / f"{name}.html").read_text(encoding="utf-8")
    return form.replace("{{data}}", error_finder.data(root)) if name == "error_finder" else form


def _link_sources(root: Path, name: str, lines: list[str]) -> None:
    sources, folders = set(tree.sources(root)), set(tree.folders(root))
    for link in markdown.links("\n".join(lines)):
        plain = link.target.partition("#")[0]
        target = os.path.normpath(Path(name).parent / plain)
        if plain and target in sources:
            to = f"{link.target}.md"
        elif plain and target in folders:
            to = f"{plain.rstrip('/')}/index.md"
        else:
            continue
        lines[link.line - 1] = lines[link.line - 1].replace(f"]({link.target})", f"]({to})")


def _title_fences(lines: list[str]) -> None:
    for fence in markdown.fences("\n".join(lines)):
        if fence.options:
            title = ", ".join(_FATES.get(key, key + " {}").format(value) for key, value in fence.options.items())
            opening = re.match(r"(?P<before>.*?(?:`{3,}|~{3,}))", lines[fence.line - 1])
            assert opening
            lines[fence.line - 1] = f'{opening["before"]}{fence.language} title="{title}"'


def _with_doors(text: str) -> str:
    first = markdown.fences(text)[0]
    lines = text.splitlines()
    return "\n".join([*lines[: first.end_line], _DOORS, chart.of_readme(text), *lines[first.end_line :]]) + "\n"
