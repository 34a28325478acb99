"""Render the data of the error finder, which the build embeds as JSON in `references/errors.md`."""

import json
import re
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

import markdown as renderer

from scripts.pack import files
from scripts.pack.package_data import known_errors, plain_errors, sections, synonyms
from scripts.site import tree
from spark_rtm.commands import errors
from spark_rtm.text import explanations

_NUMBERS = {
    errors: "MAX_FOUND MESSAGE_POINTS FAMILY_POINTS MAX_DISTANCE MAX_GAP MAX_TRIES MAX_NAME MAX_WORDS MIN_SHARED",
    explanations: "CLASS_POINTS SYNONYM_WEIGHT SATURATION LENGTH_WEIGHT BODY_WEIGHT UNKNOWN_WEIGHT MIN_SHARE "
    "PHRASE_WEIGHT PAGE_WEIGHT",
}
_PATTERNS = {errors: "TOKEN LIBRARY_CLASS SQLSTATE PACKAGES TRACE", explanations: "NAME WORD"}
_LISTS = {errors: "MARKS WEAK COMMON_CLASSES", explanations: "COMMON WRAPPERS"}
_LINK = re.compile(r'href="(?!https?:)(?P<file>[^"#]*)(?P<anchor>#[^"]*)?"')
_ALLOWED_TAG = re.compile(r'</?(?:p|code|em|strong|ul|ol|li)>|<a href="(?:https?://[^"]*|[\w./#-]*)">|</a>')


def settings() -> dict[str, Any]:
    """Return the numbers, patterns and lists of the search by their names in JavaScript, such as `maxFound`."""
    found: dict[str, Any] = {}
    for module in (errors, explanations):
        for group, change in (
            (_NUMBERS, lambda value: value),
            (_PATTERNS, lambda value: value.pattern),
            (_LISTS, sorted),
        ):
            for name in group[module].split():
                found[re.sub(r"_(\w)", lambda match: match[1].upper(), name.lower())] = change(getattr(module, name))
    return found


def data(root: Path) -> str:
    """Return the errors, sections and settings of the search as JSON that is safe in a script element."""
    pages = [asdict(each) | {"condition": each.title, "engine": errors.SECTION} for each in sections(root)]
    for page in pages:
        page |= {"link": _link(page["page"]), "fix": f"<p>{escape(page.pop('lead'))}</p>"}
    content = {"errors": entries(root), "sections": pages, "synonyms": synonyms(root), "settings": settings()}
    return json.dumps(content, ensure_ascii=False).replace("</", "<\\/")


def _link(page: str) -> str:
    return page.removeprefix("references/").replace(".md", ".html")


def entries(root: Path) -> list[dict[str, Any]]:
    """Return the errors that the form searches and shows, each with a link and with its fix as HTML."""
    return [
        {
            "condition": each.condition,
            "engine": each.engine,
            "title": each.title,
            "page": each.page,
            "link": _link(each.page),
            "fix": _rendered(Path(each.page.partition("#")[0]).stem, each.fix),
            "names": each.names,
            "points": each.points,
            "parts": [[parts, sorted(whole)] for parts, whole in each.parts],
            "identifiers": plain.identifiers,
            "family": each.family,
            "stems": sorted(plain.stems),
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
