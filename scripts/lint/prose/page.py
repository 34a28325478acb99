"""
Determine whether a sentence is about real-time mode, and whether it is a denial, a warning or a comparison.

A page may show a mistake if the page labels it as one.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

TOPIC = re.compile(
    r"\breal[- ]?time (?:mode|trigger|quer(?:y|ies)|stream(?:s|ing)? mode|pipelines?|jobs?)\b|"
    r"\brtm\b|\brealTime\b|realTimeMode",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:not|n't|no|never|without|cannot|can't|don'?t|disable[ds]?|disabling|turn(?:ed|ing)? off|"
    r"off|avoid|unsupported|incompatible|refuse[sd]?|reject(?:s|ed)?|"
    r"false|wrong|myth|remove|instead of|rather than|unlike|exclude[sd]?|forbid(?:s|den)?|fails?|"
    r"errors?|must be off|nor|neither|stop|only micro-batch|"
    r"differs?|different|versus|vs\.?|compared?|replaces?|replaced|previous|earlier|predecessor|"
    r"lacks?|none|prevent|contradicts?|stale|conflicts?|unless|n/a)\b|n't\b|:\s*(?:no|off|false)\b",
    re.IGNORECASE,
)
OTHER_SUBJECT = re.compile(
    r"\bmicro-?batch|\bbatch\b|\bwarehouses?\b|\bdefault trigger|\b(?:packs?|pages?|people|others?|"
    r"blogs?|some|many) claim|\bclaims? that\b",
    re.IGNORECASE,
)
OTHER_TOPIC = re.compile(
    r"\b(?:micro-?batch|batch|warehouses?|continuous|availableNow|processingTime|alternatives?|"
    r"default trigger|analytics|"
    r"ETL|ingestion|backfill|other (?:modes|triggers)|sql)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Sentence:
    """A sentence, list item or table row, with the headings above it."""

    line: int
    text: str
    headings: tuple[str, ...] = ()
    starts: tuple[tuple[int, int], ...] = ()
    """The positions in the text at which a line of the page begins, each with the number of that line."""

    def line_at(self, position: int) -> int:
        """Return the number of the line that contains a position of the text."""
        return next((line for start, line in reversed(self.starts) if start <= position), self.line)

    @property
    def is_about(self) -> bool:
        """
        Whether the sentence is about real-time mode.

        If the sentence names no topic, the nearest heading that names a topic decides.
        """
        for text in (self.text, *reversed(self.headings)):
            verdict = _names_topic(text)
            if verdict is not None:
                return verdict
        return False

    @property
    def is_negated(self) -> bool:
        """Whether the sentence is a denial, a warning or a comparison."""
        return bool(NEGATION.search(self.text) or OTHER_SUBJECT.search(self.text))


@dataclass
class Page:
    """The prose of a page, split into sentences."""

    sentences: list[Sentence] = field(default_factory=list)

    def claiming(self, is_claim: Callable[[str], object], *, about: bool = False) -> Iterator[Sentence]:
        """Yield each sentence that makes a claim without negation; `about` selects sentences about real-time mode."""
        for sentence in self.sentences:
            if is_claim(sentence.text) and not sentence.is_negated and (sentence.is_about or not about):
                yield sentence


@lru_cache(maxsize=1000)  # all sentences below a heading ask about the same heading
def _names_topic(text: str) -> bool | None:
    if TOPIC.search(text):
        return True
    return False if OTHER_TOPIC.search(text) else None


def in_order(text: str, *patterns: re.Pattern[str]) -> bool:
    """
    Return whether the text contains a match of each pattern, each after the one before.

    Its time grows linearly with the text. That of one pattern with `.*` between its parts grows with a power of it.
    """
    position = 0
    for pattern in patterns:
        match = pattern.search(text, position)
        if match is None:
            return False
        position = match.end()
    return True


def in_next_cell(subject: str, answer: str) -> str:
    """Return a pattern for a table row with `subject` in one cell and `answer` at the start of the next one."""
    return rf"(?:^|\|)(?=[^|]*{subject})[^|]*+\|\W*{answer}\b"
