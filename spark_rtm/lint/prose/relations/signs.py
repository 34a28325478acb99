"""
Find the core of a claim, whatever the other words of its sentence are.

A core is a relation between real-time mode and something else, such as "runs on serverless" or "only below 500 ms".
In the texts that the patterns see, `@` stands for real-time mode and `#` for the other side of the relation.
"""

import re

from spark_rtm.lint.prose.certainty import PRODUCTS, SOFT, SYSTEMS
from spark_rtm.lint.prose.polarity import NEGATION
from spark_rtm.lint.prose.topics import TOPIC

MODE = re.compile(
    rf"\.?\btrigger\(\s*realTime[^()]{{0,60}}\)|\brealTime\s*=\s*[\"'][^\"']{{0,30}}[\"']|"
    rf"\breal[- ]time (?:engine|stages?|operators?|tasks?|streams?)\b|{TOPIC.pattern}",
    re.IGNORECASE,
)
UNIT = re.compile(r"[;\u2013\u2014]|:(?=\s)|\.\s|\b(?:but|whereas|while|although|though|however)\b", re.IGNORECASE)
W = r"(?:\s+(?:@|[\w.'/-]+))"
"""One word with the space before it."""
HARMLESS = re.compile(
    r"\b(?:(?:do|does|need|must|did|is|are|was) not (?:have to|need to|necessary|needed|required)|"
    r"don't (?:have|need) to|"
    r"no (?:need|reason) to|need not|not (?:only|just|necessary|needed|required)|unnecessary|no upgrades?|pays? off)\b",
    re.IGNORECASE,
)
"""Negations that say that something is superfluous."""
ELSE = re.compile(
    r"\b(?:others?|rest|everything|people|explor\w+|another|elsewhere|ad-?hoc|hourly|daily|merges?|apart|besides?|"
    r"except|than|instead|own|neither|unless|although|despite|before|until|as soon as)\b",
    re.IGNORECASE,
)
"""Signs that a recommendation concerns something else than real-time mode."""
FOREIGN_SYSTEM = re.compile(rf"\b(?:{SYSTEMS}|exchanges?)\b", re.IGNORECASE)

NO = re.compile(r":\s*no\W*$", re.IGNORECASE)
"""The end of a question with its answer."""
PRODUCT = re.compile(rf"\b(?:{PRODUCTS})\b", re.IGNORECASE)
"""Things that may have a real-time mode of their own."""

MAX_LABEL = 5


def units(text: str) -> list[str]:
    """Return the parts of a sentence that can be true or false alone."""
    label, colon, rest = text.partition(": ")
    if colon and len(label.split()) <= MAX_LABEL:
        first, *others = UNIT.split(rest)
        return [f"{label}: {first}", *(part for part in others if part.strip())]
    return [part for part in UNIT.split(text) if part.strip()] or [""]


def marked(text: str, other: re.Pattern[str]) -> str:
    """Return a text with `@` for real-time mode and `#` for the other side."""
    text = text.replace("@", " ").replace("#", " ")
    text = SOFT.sub("", text)
    text = other.sub(lambda match: " # " if match[0] else "", text)
    text = re.sub(r"\"\s*([#@]|\w+)\s*\"", r"\1", MODE.sub(" @ ", text)).replace("=", " ")
    return re.sub(r" (?=[,.;:)])", "", " ".join(text.split()))


DENIES = re.compile(r"\b(?:unlike|differ\w*|no|nothing (?:of|like)|without)\b", re.IGNORECASE)


def is_denied(text: str, match: re.Match[str]) -> bool:
    """Return whether the relation, or the clause before it, contains a negation."""
    begin = max(text.rfind(mark, 0, match.start()) for mark in ",;:(") + 1
    span = HARMLESS.sub("", text[begin : match.end()])
    return bool(NEGATION.search(span) or DENIES.search(span))
