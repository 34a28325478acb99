"""
Render the data of the error finder: every explained error with its message and fix.

The build embeds the data as JSON in `references/errors.md`.
"""

import json
import re
from pathlib import Path
from typing import Any

import markdown as renderer

from scripts.pack.package_data import known_errors

_LINK = re.compile(r'href="(?!https?:)(?P<file>[^"#]*)(?P<anchor>#[^"]*)?"')


def data(root: Path) -> str:
    """Return the entries as JSON that is safe inside a script element."""
    return json.dumps(entries(root), ensure_ascii=False).replace("</", "<\\/")


def entries(root: Path) -> list[dict[str, Any]]:
    """Return an entry for each explained error. `messages` are the engine's own texts, and `fix` is HTML."""
    return [
        {
            "condition": each.condition,
            "engine": each.engine,
            "title": each.title,
            "link": f"{each.page}.html{f'#{each.anchor}' if each.anchor else ''}",
            "messages": list(each.messages),
            "fix": _rendered(each.page, each.fix),
        }
        for each in known_errors(root)
    ]


def _rendered(stem: str, text: str) -> str:
    """Return Markdown as HTML, with links relative to the error finder in the folder of the page `stem`."""

    def to_site(link: re.Match[str]) -> str:
        file = link["file"].removesuffix(".md") or stem
        return f'href="{file}.html{link["anchor"] or ""}"'

    return _LINK.sub(to_site, renderer.markdown(text))
