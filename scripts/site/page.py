"""Add repository links, fence titles and interactive forms to a page of the repository."""

import re
from pathlib import Path

from scripts.site import error_finder, layout, playground, rules, tree
from spark_rtm.text import markdown

TOOLS = Path(__file__).with_name("tools")
_TOOL = re.compile(r"^<!-- site: (?P<name>[\w-]+) -->$", re.MULTILINE)
_PICTURE = re.compile(r"^!\[[^\]]*\]\((?P<name>[^)]+\.svg)\)$", re.MULTILINE)
_FENCE_TITLES = {
    "raises": "fails with {}",
    "excerpt": "{}",
    "requires": "needs {}",
    "mode": "{} mode",
}


def for_site(root: Path, name: str, text: str) -> str:
    """Return the Markdown of the page `name` for mkdocs."""
    text = _with_titles(tree.linked(root, name, text)) + "\n"
    if name == rules.INDEX:
        text = rules.linked(text)
    if name.startswith("references/"):
        text = layout.adapted(text)
    text = _TOOL.sub(lambda match: tool(root, match["name"]), text)
    return _with_sizes(root, text) if name == "README.md" else text


def tool(root: Path, name: str) -> str:
    """Return the HTML of an interactive tool. The HTML contains the data of the tool, so the tool needs no server."""
    form = (TOOLS / f"{name}.html").read_text(encoding="utf-8")
    if "{{folder}}" in form:
        return form.replace("{{folder}}", playground.FOLDER) if playground.is_possible() else ""
    return form.replace("{{data}}", error_finder.data(root)) if name == "error_finder" else form


def _with_titles(text: str) -> str:
    """Return a page whose fences have their options as titles."""
    lines = text.splitlines()
    for fence in markdown.fences(text):
        if fence.options:
            title = ", ".join(_FENCE_TITLES.get(key, key + " {}").format(value) for key, value in fence.options.items())
            opening = re.match(r"(?P<before>.*?(?:`{3,}|~{3,}))", lines[fence.line - 1])
            assert opening
            lines[fence.line - 1] = f'{opening["before"]}{fence.language} title="{title}"'
    return "\n".join(lines)


def _with_sizes(root: Path, text: str) -> str:
    """Reserve space for each picture, so that the text does not move while the pictures load."""

    def sized(match: re.Match[str]) -> str:
        width, height = layout.svg_size((root / match["name"]).read_text(encoding="utf-8"))
        return f'{match[0]}{{ width="{width}" height="{height}" }}'

    return _PICTURE.sub(sized, text)
