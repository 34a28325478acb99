"""
Split a page into sentences, and find the passages that the page marks as wrong.

Text under a heading such as "Mistakes" is not advice, so it yields no sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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

HIDDEN = re.compile(r"<!--.*?-->", re.DOTALL)
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


def titles_of(text: str) -> list[tuple[str, ...]]:
    """Return the headings above each line, with the nearest heading last."""
    headings = {heading.line: heading for heading in markdown.headings(text)}
    stack: list[tuple[int, str]] = []
    titles = []
    for number, _ in enumerate(text.splitlines(), 1):
        if number in headings:
            heading = headings[number]
            stack = [*[entry for entry in stack if entry[0] < heading.level], (heading.level, heading.title)]
        titles.append(tuple(title for _, title in stack))
    return titles


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
    for title in reversed(titles):
        if is_right_comment(title):
            return False
        if _announces_mistakes(title):
            return True
    return False


def is_counterexample(text: str, titles: list[tuple[str, ...]], fence: markdown.Fence) -> bool:
    """Return whether a fence is marked as a counterexample by its options, its headings or an adjacent sentence."""
    if "raises" in fence.options:
        return True
    if "requires" in fence.options or "excerpt" in fence.options:
        return False
    after = next((line for line in text.splitlines()[fence.end_line :] if line.strip(" >\t")), "")
    first = END.split(after.strip())[0]
    if REFERS_BACK.match(first) and (WRONG.search(first) or CONDITION.search(first)) and not LEAD_RIGHT.search(first):
        return True
    # If a page declares `raises` for its failing fences, every other fence is advice, even below an error's name.
    above = () if '{raises="' in text else titles[fence.line - 1]
    return is_wrong_place(above, lead_in(text, fence.line))


def _announces_fix(lead: str) -> bool:
    return bool(
        re.search(r"\b(?:instead|correct(?:ed)?|right|fix(?:ed)?|works?|good)\b[^.]*:\W*$", lead, re.IGNORECASE)
    ) and not re.search(r"\bnot (?:right|correct|work)", lead, re.IGNORECASE)


def lead_in(text: str, line: int) -> str:
    """Return the sentence that introduces a fence, or an empty string."""
    lines = text.splitlines()
    number = line - 2
    while number >= 0 and not lines[number].strip(" >\t"):
        number -= 1
    if number < 0 or re.match(r"\s*(?:```|~~~|#{1,6}\s)", lines[number]):
        return ""
    sentence = END.split(lines[number].strip())[-1]
    is_lead = sentence.rstrip("*_ ").endswith(":") or len(sentence.split()) <= 6 or POINTS_BELOW.search(sentence)
    return sentence if is_lead else ""


def sentences(text: str, titles: list[tuple[str, ...]]) -> Iterator[Sentence]:
    """Yield each table row, and each sentence of the remaining text except headings and fences."""
    tables = markdown.tables(text)
    for table in tables:
        yield from _rows(table, titles)
    in_table = {line for table in tables for line in [table.line, table.line + 1, *[line for line, _ in table.rows]]}
    plain = HIDDEN.sub(lambda match: "\n" * match[0].count("\n"), "\n".join(markdown.prose(text)))
    paragraph: list[tuple[int, str]] = []
    for number, line in enumerate([*plain.splitlines(), ""], 1):
        is_break = not line.strip() or number in in_table or STARTS_ITEM.match(line)
        if is_break and paragraph:
            yield from _split(paragraph, titles)
            paragraph = []
        if line.strip() and number not in in_table and not line.lstrip().startswith("#"):
            paragraph.append((number, re.sub(r"~~.*?~~", "", line)))


def _rows(table: markdown.Table, titles: list[tuple[str, ...]]) -> Iterator[Sentence]:
    """Yield each table row, and each cell with several words, but omit columns that list mistakes."""
    about = {column for column, name in enumerate(table.header) if column and TOPIC.search(name)}
    wrong = {column for column, name in enumerate(table.header) if COLUMN_WRONG.search(name) or SIGN.search(name)}
    for line, cells in table.rows:
        if is_wrong_place(titles[line - 1], ""):
            continue
        relevant = [column for column in range(len(cells)) if not about or column == 0 or column in about]
        kept = [HIDDEN.sub("", cells[column]) for column in relevant if column not in wrong]
        above = (*titles[line - 1][:-1], " | ".join([*titles[line - 1][-1:], *table.header]))
        yield Sentence(line, " | ".join(kept), above)
        yield from (Sentence(line, cell, (*above, kept[0])) for cell in kept[1:] if " " in cell.strip())


def comments(text: str, titles: list[tuple[str, ...]]) -> Iterator[Sentence]:
    """Yield the comments in Python fences, because comments can make claims just as prose can."""
    for fence in markdown.fences(text):
        above = (*titles[fence.line - 1], *(["real-time mode"] if "realTime=" in fence.code else []))
        if not fence.is_python or is_counterexample(text, titles, fence):
            continue
        for number, line in enumerate(fence.code.splitlines(), fence.first_code_line):
            comment = line.partition("# ")[2].strip()
            if comment and not is_wrong_comment(comment):
                yield Sentence(number, EXPECT.sub("", comment), above)


def _split(paragraph: list[tuple[int, str]], titles: list[tuple[str, ...]]) -> Iterator[Sentence]:
    text = ""
    starts: list[tuple[int, int]] = []
    for number, words in paragraph:
        starts.append((len(text), number))
        text += words.strip() + " "
    position = 0
    if is_wrong_place(titles[paragraph[0][0] - 1], ""):
        return
    for part in END.split(text):
        position = text.index(part, position)
        line = max(entry for entry in starts if entry[0] <= position)[1]
        if not part.rstrip(" *_)").endswith("?"):
            yield Sentence(line, part.strip(), titles[paragraph[0][0] - 1])
