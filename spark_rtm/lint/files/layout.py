"""Find a page's headings and fences, and the places that the page marks as wrong."""

import re
from dataclasses import dataclass
from functools import lru_cache

from spark_rtm.lint.marks import is_right, is_wrong, is_wrong_title
from spark_rtm.text import markdown

MAX_SENTENCE = 2000
"""Maximum length of a sentence. Longer sentences are checked in pieces."""
MAX_TITLE = 200
END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)[*_)\"']*\s+(?=[\"'(*_`]*[A-Z`])")
REFERS_BACK = re.compile(r"^\W*(?:it|this|that|these|they|both|such|which|spark|pyspark|the call)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """A page's lines, the headings above each line (nearest last), and the fences."""

    text: str
    lines: list[str]
    titles: list[tuple[str, ...]]
    fences: tuple[markdown.Fence, ...]
    declares_failures: bool
    """Whether the page marks fences that fail with `raises`. All its other fences are then advice."""


def layout_of(text: str) -> Layout:
    """Return a page's lines, headings and fences."""
    lines = text.splitlines()
    headings = {heading.line: heading for heading in markdown.headings(text)}
    stack: list[tuple[int, str]] = []
    titles: list[tuple[str, ...]] = []
    above: tuple[str, ...] = ()
    for number in range(1, len(lines) + 1):
        if number in headings:
            heading = headings[number]
            stack = [entry for entry in stack if entry[0] < heading.level]
            stack.append((heading.level, heading.title[:MAX_TITLE]))
            above = tuple(title for _, title in stack)
        titles.append(above)
    return Layout(text, lines, titles, markdown.fences(text), '{raises="' in text)


@lru_cache(maxsize=1000)  # all sentences below a heading share the same titles
def wrong_title(titles: tuple[str, ...]) -> str | None:
    """Return the nearest heading that marks the text below as wrong, unless a nearer heading marks it as right."""
    for title in reversed(titles):
        if is_right(title):
            return None
        if is_wrong_title(title):
            return title
    return None


def mark_of(layout: Layout, fence: markdown.Fence) -> str | None:
    """Return the fence option, lead-in sentence or heading that marks a fence as a wrong example, or None."""
    if "raises" in fence.options:
        return ""
    if "requires" in fence.options or "excerpt" in fence.options:
        return None
    lead = lead_in(layout.lines, fence.line)
    if is_wrong(lead):
        return lead
    above = () if layout.declares_failures or is_right(lead) else layout.titles[fence.line - 1]
    return wrong_title(above)


def lead_in(lines: list[str], line: int) -> str:
    """Return the last sentence above a fence, or an empty string."""
    number = line - 2
    while number >= 0 and not lines[number].strip(" >\t"):
        number -= 1
    if number < 0 or re.match(r"\s*(?:```|~~~|#{1,6}\s)", lines[number]):
        return ""
    return END.split(lines[number].strip()[-MAX_SENTENCE:])[-1]


def without_comments(text: str, opening: str = "<!--", closing: str = "-->") -> str:
    """Remove comments from a text, but keep line breaks. An unclosed comment stays."""
    comment = re.compile(rf"{re.escape(opening)}(?:.*?(?P<end>{re.escape(closing)})|.*)", re.DOTALL)
    return comment.sub(lambda match: "\n" * match[0].count("\n") if match["end"] else match[0], text)
