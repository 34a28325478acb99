"""
The errors and the sections that the documentation explains, and a ranking of the sections by the words of a text.

The ranking is BM25 with synonyms. The site's `error_finder.js` repeats it, and a test compares the results.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import log

NAME = re.compile(r"_?[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+(?:\.[A-Z0-9_]+)?|(?:\w+\.)*[A-Z]\w*(?:Exception|Error)")
"""Pattern for an error condition or an exception class."""
WRAPPERS = {"STREAM_FAILED", "StreamingQueryException", "STREAMING_ASYNC_OPERATION_FAILED"}
PLACEHOLDER = re.compile(r"<\w+>|\.\.\.|…")
IDENTIFIER = re.compile(r"\w*[a-z][A-Z]\w*")
"""Pattern for identifiers in a fix, such as classes and options."""
CONDITION_POINTS, CLASS_POINTS = 6, 1
WORD = re.compile(r"[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+")
COMMON = frozenset(
    re.findall(
        r"\w+",
        "about all also am an and any anything are as at be because been but by can could did do does doing don "
        "for from get gets getting got had has have how if in into is it its just like may me much my need no not "
        "now of off on only or our out over really shall should so some than that the their them then there they "
        "this to too up us use used using very want was we were what when where which while who why will with "
        "would you your spark stream streaming structured query job application pyspark ",
    )
)
"""Words that do not distinguish sections."""
SYNONYM_WEIGHT = 0.7
SATURATION, LENGTH_WEIGHT = 1.2, 0.5
"""The parameters k1 and b of BM25."""
BODY_WEIGHT = 0.3
"""Weight of a word that is in the text of a section, but neither in its title nor among its keywords."""
UNKNOWN_WEIGHT = 5.0
"""Weight of a word that is in no section."""
MIN_SHARE = 0.45
"""Minimum weighted share of the words that a section must contain."""
PHRASE_WEIGHT = 0.5
"""Weight of the words that are in one phrase of a section, such as its title."""
PAGE_WEIGHT = 0.8
"""Factor for a whole page, because one of its sections usually answers better."""


@dataclass(frozen=True, eq=False)
class KnownError:
    """An error, or a family of errors, that a documentation page explains."""

    condition: str
    engine: str
    """Engine that raises the error."""
    title: str
    """Title of the section that explains the error."""
    page: str
    """Page and anchor of the section that explains the error."""
    messages: tuple[str, ...]
    """Parts of the engine's message. In an exception, values replace placeholders such as `<className>`."""
    fix: str
    family: str = ""
    """Pattern for the names of errors that the section explains without naming them."""

    @cached_property
    def names(self) -> list[str]:
        """The names of the condition and of quoted classes, unless Spark uses the class to wrap other exceptions."""
        quoted = [message for message in self.messages if NAME.fullmatch(message)]
        names = dict.fromkeys((self.condition, self.condition.rpartition(".")[2], *quoted))
        return [name for name in names if NAME.fullmatch(name) and self.condition not in WRAPPERS]

    @cached_property
    def points(self) -> int:
        """The score of a matching name. A class name scores less than a message, and a condition more."""
        return CLASS_POINTS if any(letter.islower() for letter in self.condition) else CONDITION_POINTS

    @cached_property
    def parts(self) -> list[tuple[list[str], set[str]]]:
        """Each message in lower case, split at its placeholders, and the whole words of the message."""
        messages = [PLACEHOLDER.sub("\0", " ".join(message.lower().split())) for message in self.messages]
        whole = re.compile(r"(?<![a-z0-9_\0])[a-z0-9_]+(?![a-z0-9_\0])")
        return [([part for part in each.split("\0") if part], set(whole.findall(each))) for each in messages]

    @cached_property
    def identifiers(self) -> list[str]:
        """What distinguishes sections of one condition: the identifiers in the fix, twice, and the title's words."""
        words = [*dict.fromkeys(IDENTIFIER.findall(self.fix))] * 2 + re.findall(r"\w{4,}", self.title)
        return [word.lower() for word in words]

    @cached_property
    def stems(self) -> set[str]:
        """The word stems of the error's condition, messages and fix."""
        return set(stems(" ".join([self.condition, *self.messages, self.fix])))


@dataclass(frozen=True, eq=False)
class Section:
    """A section of a page, with the weighted number of occurrences of each word stem."""

    title: str
    page: str
    """The page, with the section's anchor."""
    lead: str
    """The first sentences of the section."""
    head: dict[str, int]
    """The stems of the title and of the keywords that people use."""
    phrases: list[list[str]]
    """The stems of the title and of each keyword."""
    body: dict[str, int]

    def weight(self, stem: str) -> float:
        """Return how well the section covers a word, from 0 to 1."""
        return 1.0 if stem in self.head else BODY_WEIGHT if stem in self.body else 0.0

    def saturated(self, length: float, stem: str) -> float:
        """Return the number of a word's occurrences as a share of itself plus `length`, from 0 to 1."""
        number = self.head.get(stem, 0) + self.body.get(stem, 0)
        return number / (number + length)


def stems(text: str) -> list[str]:
    """Return the stem of each word, except common words. A part of an identifier is a word."""
    words = (word.lower() for word in WORD.findall(text))
    endings = (re.sub(r"(?:ing|ed|es|s|e)$", "", word) for word in words if len(word) > 1 and word not in COMMON)
    return [re.sub(r"(.)\1$", r"\1", re.sub(r"(?:ied|ies|y)$", "i", word)) for word in endings]


def weights(sections: Sequence[Section]) -> dict[str, float]:
    """Return the weight of each stem. Stems in few sections weigh more."""
    count = Counter(stem for section in sections for stem in {**section.head, **section.body})
    return {stem: log(1 + len(sections) / number) for stem, number in count.items()}


def terms_of(
    text: str, known: Mapping[str, float], synonyms: Mapping[str, Sequence[str]]
) -> list[list[tuple[str, float]]]:
    """Return the known stems and synonyms of each word, each with its weight."""
    found = []
    for stem in sorted(set(stems(text))):  # a floating-point sum depends on the order of its terms
        own = [(stem, known[stem])] if stem in known else []
        others = [(other, known[other] * SYNONYM_WEIGHT) for other in synonyms.get(stem, ()) if other in known]
        found.append(own + others)
    return found


def covered(terms: list[list[tuple[str, float]]], has: Callable[[str], float]) -> float:
    """Return the sum of the words' weights, each multiplied by how well `has` covers the word or a synonym."""
    return sum(max((weight * has(stem) for stem, weight in term), default=0.0) for term in terms)


def rank(sections: Sequence[Section], terms: list[list[tuple[str, float]]]) -> list[Section]:
    """Return the sections that contain enough of the words, best first."""
    total = sum(max((weight for _, weight in term), default=UNKNOWN_WEIGHT) for term in terms)
    mean = sum(sum(section.body.values()) for section in sections) / max(1, len(sections))
    scores = {}
    for section in sections:
        share = covered(terms, section.weight)
        if total and share >= MIN_SHARE * total:
            length = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * sum(section.body.values()) / mean)
            score = covered(terms, partial(section.saturated, length)) * (0.1 + 0.9 * share / total)
            together = max(covered(terms, phrase.__contains__) for phrase in section.phrases)
            scores[section] = (score + PHRASE_WEIGHT * together) * (1 if "#" in section.page else PAGE_WEIGHT)
    return sorted(scores, key=lambda section: -scores[section])
