"""
Gather what the error finder knows: each condition that a page provokes or lists, its message and its fix.

The root folder arrives; JSON leaves, which the build puts into the finder's page.
"""

import json
import re
from pathlib import Path
from typing import TypedDict

import markdown as renderer

from scripts.pack import files
from scripts.text import markdown

FAMILY = "STREAMING_REAL_TIME_MODE"
DATABRICKS = "references/errors_on_databricks.md"
_LINK = re.compile(r'href="(?!https?:)(?P<file>[^"#]*)(?P<anchor>#[^"]*)?"')
_QUOTED = re.compile(r"^> `+ ?(?P<message>.+?) ?`+$")


class Entry(TypedDict):
    """A place where a condition is explained: `messages` are the engine's words, `fix` is HTML."""

    condition: str
    engine: str
    title: str
    link: str
    messages: list[str]
    fix: str


def data(root: Path) -> str:
    """Return the finder's entries as JSON that may stand inside of a script element."""
    return json.dumps(entries(root), ensure_ascii=False).replace("</", "<\\/")


def entries(root: Path) -> list[Entry]:
    """
    Return an entry for each place that provokes a condition, and for each condition that only Databricks has.

    A section of an error page explains its condition; other pages speak for those that no error page has.
    """
    paths = sorted(files.references(root), key=lambda path: not path.stem.startswith("errors_"))
    found: list[Entry] = []
    for path in paths:
        known = {entry["condition"] for entry in found}
        explained = [entry for entry in _provoked(path) if entry["fix"]]
        found += [entry for entry in explained if path.stem.startswith("errors_") or entry["condition"] not in known]
    return found + _on_databricks(root)


def _provoked(path: Path) -> list[Entry]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    found: list[Entry] = []
    for fence in markdown.fences(text):
        if condition := fence.options.get("raises"):
            above = [place for place in markdown.headings(text) if place.line < fence.line][-1]
            quotes = [match["message"] for line in lines[above.line : fence.line] if (match := _QUOTED.match(line))]
            found.append(
                {
                    "condition": condition,
                    "engine": "OSS 4.3.0",
                    "title": above.title,
                    "link": f"{path.stem}.html#{above.anchor}",
                    "messages": quotes[-1:],
                    "fix": _rendered(path.stem, _after(lines, fence.end_line)),
                }
            )
    return found


def _on_databricks(root: Path) -> list[Entry]:
    stem = Path(DATABRICKS).stem
    table = markdown.tables((root / DATABRICKS).read_text(encoding="utf-8"))[0]
    return [
        {
            "condition": f"{FAMILY}.{condition.strip('`')}",
            "engine": "Databricks, by its documentation",
            "title": "Errors on Databricks",
            "link": f"{stem}.html",
            "messages": [],
            "fix": _rendered(stem, f"Provoked by: {provoked}.\n\nFix: {fix}."),
        }
        for _, (condition, provoked, fix, _evidence) in table.rows
    ]


def _after(lines: list[str], start: int) -> str:
    """Return the prose that follows a fence, up to whatever is no prose."""
    no_prose = ("```", "#", "|", "- [", "<!--", "> ")
    end = next((number for number in range(start, len(lines)) if lines[number].startswith(no_prose)), len(lines))
    return "\n".join(lines[start:end])


def _rendered(stem: str, text: str) -> str:
    """Return HTML whose links start from the finder's page, a neighbour of the page `stem`."""

    def to_site(link: re.Match[str]) -> str:
        file = link["file"].removesuffix(".md") or stem
        return f'href="{file}.html{link["anchor"] or ""}"'

    return _LINK.sub(to_site, renderer.markdown(text))
