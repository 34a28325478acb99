"""Find the headings and fences of a page, and the places that the page marks as wrong."""

import re
from dataclasses import dataclass
from functools import lru_cache

from spark_rtm.lint.python.counterexamples import CONDITION, LEAD_RIGHT, SIGN, WRONG, is_right_comment, is_wrong_lead
from spark_rtm.text import markdown

MAX_SENTENCE = 2000
"""Maximum length of a sentence; longer ones are checked in pieces."""
MAX_TITLE = 200
POINTS_BELOW = re.compile(r"\b(?:this|these|following|below|next)\b", re.IGNORECASE)
END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)[*_)\"']*\s+(?=[\"'(*_`]*[A-Z`])")
REFERS_BACK = re.compile(r"^\W*(?:it|this|that|these|they|both|such|which|spark|pyspark|the call)\b", re.IGNORECASE)
TITLES_WRONG = re.compile(
    r"\b(?:wrong|bad|mistakes?|pitfalls?|anti-?patterns?|errors?|fail(?:s|ures?|ing)?|refus(?:ed|"
    r"als?|es)|reject(?:ed|s|ions?)?|incorrect|"
    r"don'?ts?|do not|avoid|never|not supported|unsupported|invalid|broken|what goes wrong|myths?|"
    r"troubleshooting|before(?! (?:you|an?|each|every|your|any|\w+ing|the first)\b)|gotchas?|limitations?)\b",
    re.IGNORECASE,
)
HARMLESS_TITLE = re.compile(r"\b(?:troubleshooting|limitations?)\b", re.IGNORECASE)
"""Headings above code that may be wrong. Sentences below them are advice."""


@dataclass(frozen=True)
class Layout:
    """The lines of a page, the headings above each line (nearest last), and the fences."""

    text: str
    lines: list[str]
    titles: list[tuple[str, ...]]
    fences: tuple[markdown.Fence, ...]
    declares_failures: bool
    """Whether the page marks its failing fences with `raises`, so every other fence is advice."""


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


def is_wrong_place(titles: tuple[str, ...], lead: str) -> bool:
    """Return whether a lead-in sentence, or else the nearest heading that judges code, introduces a mistake."""
    if lead and (is_right_comment(lead) or _announces_fix(lead)):
        return False
    if lead and is_wrong_lead(lead):
        return True
    return _is_wrong_below(titles)


@lru_cache(maxsize=1000)  # all sentences below a heading have the same titles
def _is_wrong_below(titles: tuple[str, ...]) -> bool:
    for title in reversed(titles):
        if is_right_comment(title):
            return False
        if SIGN.search(title) or TITLES_WRONG.search(title) or CONDITION.search(title):
            return True
    return False


@lru_cache(maxsize=1000)
def is_wrong_section(titles: tuple[str, ...]) -> bool:
    """Return whether a heading calls the text below it wrong. Questions never count."""
    return _is_wrong_below(tuple(HARMLESS_TITLE.sub("", title) for title in titles if not title.endswith("?")))


def is_counterexample(layout: Layout, fence: markdown.Fence) -> bool:
    """Return whether options, headings or an adjacent sentence mark a fence as a counterexample."""
    if "raises" in fence.options:
        return True
    if "requires" in fence.options or "excerpt" in fence.options:
        return False
    first = END.split(next_line(layout.lines, fence.end_line))[0]
    if REFERS_BACK.match(first) and (WRONG.search(first) or CONDITION.search(first)) and not LEAD_RIGHT.search(first):
        return True
    above = () if layout.declares_failures else layout.titles[fence.line - 1]
    return is_wrong_place(above, lead_in(layout.lines, fence.line))


def next_line(lines: list[str], start: int) -> str:
    """Return the first line that is not blank after line `start`, or an empty string."""
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
    """Return the text without comments, but with all line breaks. A comment without an end stays."""
    comment = re.compile(rf"{re.escape(opening)}(?:.*?(?P<end>{re.escape(closing)})|.*)", re.DOTALL)
    return comment.sub(lambda match: "\n" * match[0].count("\n") if match["end"] else match[0], text)
