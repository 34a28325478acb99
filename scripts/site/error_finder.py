"""Render the data of the error finder, which the build embeds as JSON in `references/errors.md`."""

import json
import re
from pathlib import Path
from typing import Any

import markdown as renderer

from scripts.pack import files
from scripts.pack.package_data import known_errors, plain_errors
from scripts.site import tree
from spark_rtm.commands import errors

SETTINGS = {
    "maxFound": errors.MAX_FOUND,
    "messagePoints": errors.MESSAGE_POINTS,
    "maxDistance": errors.MAX_DISTANCE,
    "maxGap": errors.MAX_GAP,
    "unknownWeight": errors.UNKNOWN_WEIGHT,
    "minShare": errors.MIN_SHARE,
    "trace": errors.TRACE.pattern,
    "common": sorted(errors.COMMON),
    "wrappers": sorted(errors.WRAPPERS),
}
_LINK = re.compile(r'href="(?!https?:)(?P<file>[^"#]*)(?P<anchor>#[^"]*)?"')
_ALLOWED_TAG = re.compile(r'</?(?:p|code|em|strong|ul|ol|li)>|<a href="(?:https?://[^"]*|[\w./#-]*)">|</a>')


def data(root: Path) -> str:
    """Return the errors and the settings of the search as JSON that can be embedded safely in a script element."""
    content = {"errors": entries(root), "words": errors.words(), "settings": SETTINGS}
    return json.dumps(content, ensure_ascii=False).replace("</", "<\\/")


def entries(root: Path) -> list[dict[str, Any]]:
    """Return the errors that the form searches and shows, each with a link and with its fix as HTML."""
    return [
        {
            "condition": each.condition,
            "engine": each.engine,
            "title": each.title,
            "link": each.page.removeprefix("references/").replace(".md", ".html"),
            "fix": _rendered(Path(each.page.partition("#")[0]).stem, each.fix),
            "names": each.names,
            "points": each.points,
            "parts": each.parts,
            "identifiers": plain.identifiers,
        }
        for each, plain in zip(known_errors(root), plain_errors(root), strict=True)
    ]


def _rendered(stem: str, text: str) -> str:
    """
    Return Markdown from the page `stem` as HTML, with links that work from the page of the error finder.

    The error finder inserts this HTML, so tags other than those of rendered Markdown are rejected.
    """

    def to_site(link: re.Match[str]) -> str:
        target = tree.target(files.ROOT, f"references/{stem}.md", link["file"] or f"{stem}.md")
        page = f"{target.removesuffix('.md')}.html" if target.endswith(".md") else target
        return f'href="{page}{link["anchor"] or ""}"'

    html = _LINK.sub(to_site, renderer.markdown(text))
    if "<" in (rest := _ALLOWED_TAG.sub("", html)):
        found = rest[rest.index("<") :][:80]
        raise ValueError(
            f"{stem}.md: a fix contains the HTML {found!r}, which the error finder rejects; write it as Markdown"
        )
    return html
