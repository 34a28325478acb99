"""
Collect the data of the error finder: every error condition on the pages, with its message and its fix.

The build embeds the data as JSON in the page with the error finder, `references/errors.md`.
"""

import json
import re
from pathlib import Path
from typing import TypedDict

import markdown as renderer

from scripts.pack import files
from spark_rtm.text import markdown

CONDITION_FAMILY = "STREAMING_REAL_TIME_MODE"
DATABRICKS_PAGE = "references/errors_on_databricks.md"
_LINK = re.compile(r'href="(?!https?:)(?P<file>[^"#]*)(?P<anchor>#[^"]*)?"')
_ALLOWED_TAG = re.compile(r'</?(?:p|code|em|strong|ul|ol|li)>|<a href="(?:https?://[^"]*|[\w./#-]*)">|</a>')
_QUOTED = re.compile(r"^> `+ ?(?P<message>.+?) ?`+$")


class Entry(TypedDict):
    """An explained error condition; `messages` holds the engine's messages verbatim, and `fix` is HTML."""

    condition: str
    engine: str
    title: str
    link: str
    messages: list[str]
    fix: str


def data(root: Path) -> str:
    """Return the entries as JSON that is safe inside a script element."""
    return json.dumps(entries(root), ensure_ascii=False).replace("</", "<\\/")


def entries(root: Path) -> list[Entry]:
    """
    Return an entry for each section that reproduces a condition, and for each condition that exists only on Databricks.

    The error pages (`errors_*.md`) come first. Each other page adds only conditions that no earlier page explains.
    """
    paths = sorted(files.references(root), key=lambda path: not path.stem.startswith("errors_"))
    result: list[Entry] = []
    for path in paths:
        known = {entry["condition"] for entry in result}
        explained = [entry for entry in _provoked(path) if entry["fix"]]
        result += [entry for entry in explained if path.stem.startswith("errors_") or entry["condition"] not in known]
    return result + _on_databricks(root)


def _provoked(path: Path) -> list[Entry]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    result: list[Entry] = []
    for fence in markdown.fences(text):
        if condition := fence.options.get("raises"):
            section = [heading for heading in markdown.headings(text) if heading.line < fence.line][-1]
            quotes = [match["message"] for line in lines[section.line : fence.line] if (match := _QUOTED.match(line))]
            result.append(
                {
                    "condition": condition,
                    "engine": "OSS 4.3.0",
                    "title": section.title,
                    "link": f"{path.stem}.html#{section.anchor}",
                    "messages": quotes[-1:],
                    "fix": _rendered(path.stem, _after(lines, fence.end_line)),
                }
            )
    return result


def _on_databricks(root: Path) -> list[Entry]:
    stem = Path(DATABRICKS_PAGE).stem
    table = markdown.tables((root / DATABRICKS_PAGE).read_text(encoding="utf-8"))[0]
    return [
        {
            "condition": f"{CONDITION_FAMILY}.{condition.strip('`')}",
            "engine": "Databricks, according to its documentation",
            "title": "Errors on Databricks",
            "link": f"{stem}.html",
            "messages": [],
            "fix": _rendered(stem, f"Cause: {provoked}.\n\nFix: {fix}."),
        }
        for _, (condition, provoked, fix, _evidence) in table.rows
    ]


def _after(lines: list[str], start: int) -> str:
    """Return the prose between a fence and the next block that is not prose."""
    other_blocks = ("```", "#", "|", "- [", "<!--", "> ")
    end = next((number for number in range(start, len(lines)) if lines[number].startswith(other_blocks)), len(lines))
    return "\n".join(lines[start:end])


def _rendered(stem: str, text: str) -> str:
    """
    Return Markdown as HTML, with links relative to the error finder, which is in the folder of the page `stem`.

    The error finder inserts this text into its page, so HTML that is not rendered Markdown is refused.
    """

    def to_site(link: re.Match[str]) -> str:
        file = link["file"].removesuffix(".md") or stem
        return f'href="{file}.html{link["anchor"] or ""}"'

    html = _LINK.sub(to_site, renderer.markdown(text))
    if "<" in (rest := _ALLOWED_TAG.sub("", html)):
        found = rest[rest.index("<") :][:80]
        raise ValueError(f"{stem}.md: the error finder would insert the HTML {found!r} of a fix; write it as Markdown")
    return html
