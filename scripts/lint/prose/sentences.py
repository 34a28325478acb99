"""
Split a page into sentences, and find the passages that the page marks as wrong.

Text under a heading such as "Mistakes" is not advice, so it yields no sentences.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from scripts.lint.prose.marks import (
    CONDITION,
    EXPECT,
    LEAD_RIGHT,
    SIGN,
    WRONG,
    is_right_comment,
    is_wrong_comment,
    is_wrong_lead,
)
from scripts.lint.prose.page import TOPIC, Sentence
from scripts.text import markdown

MAX_SENTENCE = 2000
"""A longer sentence is checked in pieces of this many characters."""
MAX_TITLE = 200
POINTS_BELOW = re.compile(r"\b(?:this|these|following|below|next)\b", re.IGNORECASE)
END = re.compile(r"(?<=[.!?])[*_)\"']*\s+(?=[\"'(*_`]*[A-Z`])")
STARTS_ITEM = re.compile(r"^\s*(?:>\s*)*(?:[-*+]|\d+[.)])\s+|^\s*>|^#{1,6}\s|^---|^\w+:\s")
REFERS_BACK = re.compile(r"^\W*(?:it|this|that|these|they|both|such|which|spark|pyspark|the call)\b", re.IGNORECASE)
TITLES_WRONG = re.compile(
    r"\b(?:wrong|bad|mistakes?|pitfalls?|anti-?patterns?|errors?|fail(?:s|ures?|ing)?|refus(?:ed|"
    r"als?|es)|reject(?:ed|s|ions?)?|incorrect|"
    r"don'?ts?|do not|avoid|never|not supported|unsupported|invalid|broken|what goes wrong|myths?|"
    r"troubleshooting|before|gotchas?|limitations?)\b",
    re.IGNORECASE,
)
COLUMN_WRONG = re.compile(
    r"\b(?:wrong|bad|don'?t|mistakes?|errors?|before|instead of|avoid|rejected|refused|incorrect|not|"
    r"fails?|old|claims?|myth|symptom|anti-?pattern)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Layout:
    """The lines of a page, the headings above each line (the nearest one last), and the fences."""

    text: str
    lines: list[str]
    titles: list[tuple[str, ...]]
    fences: list[markdown.Fence]
    declares_failures: bool
    """Whether the page declares `raises` for its failing fences. Then every other fence is advice."""


def layout_of(text: str) -> Layout:
    """Return the lines, headings and fences of a page."""
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


def _announces_mistakes(title: str) -> bool:
    return bool(SIGN.search(title) or TITLES_WRONG.search(title) or CONDITION.search(title))


def is_wrong_place(titles: tuple[str, ...], lead: str) -> bool:
    """
    Return whether a lead-in sentence or a heading introduces a mistake.

    A lead-in sentence that marks the passage as correct or wrong takes precedence over the headings.
    Otherwise, the nearest heading that contains such a mark decides.
    """
    if lead and (is_right_comment(lead) or _announces_fix(lead)):
        return False
    if lead and is_wrong_lead(lead):
        return True
    return _is_wrong_below(titles)


@lru_cache(maxsize=1000)  # all sentences below a heading ask about the same headings
def _is_wrong_below(titles: tuple[str, ...]) -> bool:
    for title in reversed(titles):
        if is_right_comment(title):
            return False
        if _announces_mistakes(title):
            return True
    return False


def is_counterexample(layout: Layout, fence: markdown.Fence) -> bool:
    """Return whether a fence is marked as a counterexample by its options, its headings or an adjacent sentence."""
    if "raises" in fence.options:
        return True
    if "requires" in fence.options or "excerpt" in fence.options:
        return False
    first = END.split(_next_line(layout.lines, fence.end_line))[0]
    if REFERS_BACK.match(first) and (WRONG.search(first) or CONDITION.search(first)) and not LEAD_RIGHT.search(first):
        return True
    above = () if layout.declares_failures else layout.titles[fence.line - 1]
    return is_wrong_place(above, lead_in(layout.lines, fence.line))


def _next_line(lines: list[str], start: int) -> str:
    for number in range(start, len(lines)):
        if lines[number].strip(" >\t"):
            return lines[number].strip()[:MAX_SENTENCE]
    return ""


def _announces_fix(lead: str) -> bool:
    before, colon, after = lead.rpartition(":")
    if not colon or re.search(r"\w", after) or re.search(r"\bnot (?:right|correct|work)", lead, re.IGNORECASE):
        return False
    last_part = before.rpartition(".")[2]
    return bool(re.search(r"\b(?:instead|correct(?:ed)?|right|fix(?:ed)?|works?|good)\b", last_part, re.IGNORECASE))


def lead_in(lines: list[str], line: int) -> str:
    """Return the sentence that introduces a fence, or an empty string."""
    number = line - 2
    while number >= 0 and not lines[number].strip(" >\t"):
        number -= 1
    if number < 0 or re.match(r"\s*(?:```|~~~|#{1,6}\s)", lines[number]):
        return ""
    sentence = END.split(lines[number].strip()[-MAX_SENTENCE:])[-1]
    is_lead = sentence.rstrip("*_ ").endswith(":") or len(sentence.split()) <= 6 or POINTS_BELOW.search(sentence)
    return sentence if is_lead else ""


def without_comments(text: str, opening: str = "<!--", closing: str = "-->") -> str:
    """Return the text without comments, but with their line breaks."""
    pieces = []
    position = 0
    while (start := text.find(opening, position)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        end += len(closing)
        pieces += [text[position:start], "\n" * text.count("\n", start, end)]
        position = end
    return "".join([*pieces, text[position:]])


def sentences(layout: Layout) -> Iterator[Sentence]:
    """Yield each table row, and each sentence of the remaining text except headings and fences."""
    tables = markdown.tables(layout.text)
    for table in tables:
        yield from _rows(table, layout.titles)
    in_table = {line for table in tables for line in [table.line, table.line + 1, *[line for line, _ in table.rows]]}
    plain = without_comments("\n".join(markdown.prose(layout.text)))
    paragraph: list[tuple[int, str]] = []
    for number, line in enumerate([*plain.splitlines(), ""], 1):
        is_break = not line.strip() or number in in_table or STARTS_ITEM.match(line)
        if is_break and paragraph:
            yield from _split(paragraph, layout.titles)
            paragraph = []
        if line.strip() and number not in in_table and not line.lstrip().startswith("#"):
            paragraph.append((number, re.sub(r"~~.*?~~", "", line)))


def _rows(table: markdown.Table, titles: list[tuple[str, ...]]) -> Iterator[Sentence]:
    """Yield each table row, and each cell with several words, but omit columns that list mistakes."""
    about = {column for column, name in enumerate(table.header) if column and TOPIC.search(name)}
    wrong = {column for column, name in enumerate(table.header) if COLUMN_WRONG.search(name) or SIGN.search(name)}
    above = titles[table.line - 1]  # no heading separates the rows of a table
    if is_wrong_place(above, ""):
        return
    above = (*above[:-1], " | ".join([*above[-1:], *table.header])[:MAX_SENTENCE])
    for line, cells in table.rows:
        relevant = [column for column in range(len(cells)) if not about or column == 0 or column in about]
        kept = [" ".join(without_comments(cells[column]).split()) for column in relevant if column not in wrong]
        yield from _pieces(" | ".join(kept), [(0, line)], above)
        subject = kept[0][:MAX_TITLE] if kept else ""
        for cell in kept[1:]:
            if " " in cell:
                yield from _pieces(cell, [(0, line)], (*above, subject))


def comments(layout: Layout) -> Iterator[Sentence]:
    """Yield the comments in Python fences, because comments can make claims just as prose can."""
    for fence in layout.fences:
        if not fence.is_python or is_counterexample(layout, fence):
            continue
        above = (*layout.titles[fence.line - 1], *(["real-time mode"] if "realTime=" in fence.code else []))
        for number, line in enumerate(fence.code.splitlines(), fence.first_code_line):
            comment = " ".join(line.partition("# ")[2].split())
            if comment and not is_wrong_comment(comment):
                yield from _pieces(EXPECT.sub("", comment), [(0, number)], above)


def _split(paragraph: list[tuple[int, str]], titles: list[tuple[str, ...]]) -> Iterator[Sentence]:
    above = titles[paragraph[0][0] - 1]
    if is_wrong_place(above, ""):
        return
    words = [" ".join(line.split()) for _, line in paragraph]
    text = " ".join(words)
    starts = [0, *accumulate(len(line) + 1 for line in words[:-1])]
    begin = 0
    for end in [*END.finditer(text), None]:
        part = text[begin : end.start() if end else None]
        first = bisect_left(starts, begin + 1) - 1
        lines = range(first, bisect_left(starts, begin + len(part), first + 1))
        places = [(max(starts[line] - begin, 0), paragraph[line][0]) for line in lines]
        if not part.rstrip(" *_)").endswith("?"):
            yield from _pieces(part, places, above)
        begin = end.end() if end else 0


def _pieces(text: str, places: list[tuple[int, int]], headings: tuple[str, ...]) -> Iterator[Sentence]:
    """
    Yield a sentence, or the pieces of a sentence that is longer than `MAX_SENTENCE`.

    `places` holds the position in the text at which each line begins, and the number of that line.
    """
    if len(text) <= MAX_SENTENCE:
        yield Sentence(places[0][1], text, headings, tuple(places))
        return
    ends = [*[start for start, _ in places[1:]], len(text)]
    for (start, number), end in zip(places, ends, strict=True):
        for piece in _short_pieces(text[start:end]):
            yield Sentence(number, piece, headings)


def _short_pieces(line: str) -> Iterator[str]:
    """Cut a line at every `MAX_SENTENCE` characters, or at the start of a code span that would be cut in two."""
    spans = markdown.code_spans(line)
    begin = number = 0
    while begin < len(line):
        end = begin + MAX_SENTENCE
        while number < len(spans) and spans[number][1] <= end:
            number += 1
        if number < len(spans) and begin < spans[number][0] < end:
            end = spans[number][0]
        yield line[begin:end]
        begin = end
