"""
Determine whether a sentence is about real-time mode, and whether it is a denial, a warning or a comparison.

A page may show a mistake if the page labels it as one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

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

    @property
    def is_about(self) -> bool:
        """
        Whether the sentence is about real-time mode.

        If the sentence names no topic, the nearest heading that names a topic decides.
        """
        for text in (self.text, *reversed(self.headings)):
            if TOPIC.search(text):
                return True
            if OTHER_TOPIC.search(text):
                return False
        return False

    @property
    def is_negated(self) -> bool:
        """Whether the sentence is a denial, a warning or a comparison."""
        return bool(NEGATION.search(self.text) or OTHER_SUBJECT.search(self.text))


@dataclass
class Page:
    """The prose of a page, split into sentences."""

    sentences: list[Sentence] = field(default_factory=list)

    def claiming(self, claim: re.Pattern[str], *, about: bool = False) -> Iterator[Sentence]:
        """Yield sentences that match `claim` without negation; `about` selects only sentences about real-time mode."""
        for sentence in self.sentences:
            if claim.search(sentence.text) and not sentence.is_negated and (sentence.is_about or not about):
                yield sentence
