"""
Read one clause: whether it advises a subject such as Photon, or denies it.

A clause advises its subject if it contains a word such as "requires" and an even number of negations.
So "needs Photon" and "does not run without Photon" advise Photon; "runs only if Photon is off" does not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from spark_rtm.lint.prose.topics import TOPIC

SPLIT = re.compile(
    r"\s*(?:[;()\u2013\u2014]|\s-\s|,(?!\d)(?!\s*(?-i:Enable|Use)\b)|(?<!e\.g)(?<!i\.e)\.\s|"
    r"\b(?:in order )?to(?=\s+(?:avoid|prevent|stop|reduce)\b)|\bby(?=\s+\w+ing\b)|"
    r"\b(?:but|whereas|while|although|though|because|so|otherwise(?!\W*$)|however)\b|"
    r"\band(?=\s+(?!(?-i:Enable|Use)\b)(?:must|should|is|are|has|have|can|turn|switch|set|disable|enable|use|keep|"
    r"avoid|do|does|not|never|no|"
    r"without|the|it|run|runs|needs?|requires?|real-time|rtm)\b))\s*",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:not(?! (?:only|just|forget))|cannot|never|disabl\w+|deactivat\w+|avoid\w*|unsupported|unavailable|unable|"
    r"incompatible|refus\w+|reject\w*|false|untick\w*|uncheck\w*|remov\w+|drop(?:s|ped)?|exclud\w+|forbid\w*|"
    r"prohibit\w*|fails?|failed|failing|errors?|unless|until|nor|neither|stop(?:s|ped)?|lacks?|none|prevent\w*|"
    r"unnecessary|"
    r"impossible|discourag\w+|interrupt\w*|no longer|no need|no (?:real-time|rtm)|no (?:benefit|gain|effect|"
    r"advantage)|pointless|useless|n/a)\b|\b\w+n['\u2019]t\b(?! forget)|"
    r"(?<![-\w])off(?![-\w])|(?:^|[:|]\s*)no\b(?=\s*(?:[,.!;:|]|$))|[\u274c\u2717\u2718\u26d4\u2716]|:x:",
    re.IGNORECASE,
)
SCOPED_NEGATION = (
    r"\b(?:no|without|instead of|rather than|other than|except|over)\s+(?:[\w-]+\s+){{0,3}}?\W*(?:{subject})"
)
BEFORE = (
    r"enables?|activates?|use|uses|turns? on|switch(?:es)? on|keep|keeps|choose|"
    r"select\w*|tick|check|requires?|requir(?:ing|ements?)|needs?|relies|rely|depends?|let|prefers?|attach\w*|"
    r"deploy\w*|"
    r"benefits?|set|pick|leverag\w+|powered|thanks to|clusters? with|runs?|leave|combin\w+|gets?|add|adds|raise|"
    r"increase|extend|schedul\w+|submit\w*|launch\w*|execut\w+|host\w*|give(?! up)|switch|change"
)
AFTER = (
    r"enabled|activated|used|turned on|switched on|kept|required|needed|mandatory|necessary|essential|accelerat\w+|"
    r"speeds? up|faster|improv\w+|ready|needs to be|part of (?:every|each|all|the)"
)
ANYWHERE = (
    r"recommend\w*|supports|supported|must|should|yes|true|available|works?|fine|ok(?:ay)?|allowed|possible|ideal|best|"
    r"safely|prerequisites?"
)
ADVICE = re.compile(
    rf"\b(?:{BEFORE}|{AFTER}|{ANYWHERE})\b|[\u2705\u2713\u2714]|:white_check_mark:|\bon\W*$", re.IGNORECASE
)
ADVICE_BEFORE = re.compile(rf"\b(?:{BEFORE}|{ANYWHERE})\b|[\u2705\u2713\u2714]|:white_check_mark:", re.IGNORECASE)
ADVICE_AFTER = re.compile(
    rf"\b(?:{AFTER}|{ANYWHERE})\b|[\u2705\u2713\u2714]|:white_check_mark:|"
    r"^\W+(?:(?:is|are|be|must|should|has|have|to|turned|switched|acceleration|engine|support|fully|always)\W+){0,4}"
    r"on\b(?=\W*$|\W*[,.;)]|\s+(?:for|in|by|at|and|the|all|every)\b)",
    re.IGNORECASE,
)
WITH = re.compile(
    r"\b(?:engine|acceleration|runtime)\s*:\W*$|"
    r"\w\W+(?:using|enabling)\W*$|\b(?:with|on|in|by|as an?|via|through|inside|is)\s+(?:[\w-]+\s+){0,3}?\W*$",
    re.IGNORECASE,
)
"""The end of a text before a subject, such as "real-time mode with"."""
KEEPS = re.compile(
    r"\b(?:not|never|\w+n['\u2019]t|no need to|avoid)\s+(?:\w+\s+){0,2}?(?:disabl\w*|deactivat\w*|turn\w*|switch\w*|"
    r"remov\w*|uncheck|untick|off)\b|:\s*no\W*$",
    re.IGNORECASE,
)
"""Advice to keep the subject, such as "do not disable Photon"."""
CONDITION = re.compile(
    r"\b(?:if|before|as soon as|when|whenever|unless|until|once|whether|in case|as long as|provided)\b", re.IGNORECASE
)
OUTCOME = re.compile(
    r"\b(?:fail\w*|refus\w+|cannot|works?|run|runs|supported|available|starts?|possible|only|faster|lower|slow\w*)\b|"
    r"n['\u2019]t\b|\bnot\b",
    re.IGNORECASE,
)
ASIDE = re.compile(r"avoid\w*|unless|until", re.IGNORECASE)
ELLIPSIS = re.compile(
    r"\b(?:(?:may|can|must|does|do|is|are|will|should|has) not|cannot|\w+n['\u2019]t)\W*$", re.IGNORECASE
)
"""The end of a clause that denies what the clause before says of something else."""
ERROR_NAME = re.compile(r"\b(?:[A-Z][A-Z0-9]+_){2,}[A-Z0-9]+\b")
PLAIN_SUBJECT = re.compile(
    r"(?:the|an?|what|which|that|my|this|its|you|your|we|our|their|all|each|every|any|some|both|"
    r"for|in|on|of|to|with|at|from|i|description|part|enough|upgrade|move|least|minimum|versions?|been|introduced|"
    r"since|any|well|plays?|fine|good|copes?|brings?|delivers?|reach(?:es)?|simplest|easiest|way|"
    r"and|or|then|so|also|always|please|make|made|sure|be|is|are|do|does|did|has|have|must|should|can|may|might|"
    r"will|not|"
    r"yes|no|note|tip|important|hint|warning|best|practice|production|requirements?|prerequisites?|databricks|spark|"
    r"latency|latencies|performance|speed|setup|configuration|config|settings?|costs?|real-?time|real|time|rtm|low|"
    r"lowest|"
    r"lower|workers?|nodes?|executors?|drivers?|runtimes?|dbr|lts|quer(?:y|ies)|jobs?|clusters?|compute|workloads?|"
    r"streams?|"
    r"streaming|pipelines?|modes?|triggers?|engines?|slots?|peaks?|kafka|notebooks?|fully|number|between|rows?|"
    r"records?|process\w*|milliseconds?|save|cut|bill|"
    r"above|newer|later|higher|upwards?|onwards?|up|sufficient|included|suffices?|ml|year|day|peak|traffic|load|"
    r"structured|"
    r"fallback|next|range|ticked|menu|per|unless|given|general|availability|sizes?|capacity|money|latencies|"
    r"performance|as|by|there|tables?|topics?|"
    r"one|only|just|"
    r"simply|"
    r"here|now|first|finally|because|if|when|before|start|starting|run|running|use|using|create|choose|open|edit|step|"
    r"surprisingly|continuous|sub-?second|seconds?|milliseconds?|fast|fastest|vectorized|execution|next|cells?|"
    r"instances?|vms?|safely|support|supports|with|without|dedicated|classic|fixed|size|recommended|"
    r"photon|acceleration|serverless|autoscaling|auto-scaling|spot|a|answer|q|\d+(?:\.\d+)?\+?)"
)
"""The words of a subject that stands for a query or its cluster, and not for something else on the page."""
OF_THE_CLAUSE_BEFORE = re.compile(
    r"(?:also |then |and )?(?:uses|runs|needs|requires|supports|has|is|works|benefits)\b", re.IGNORECASE
)
"""How a clause begins whose subject is that of the clause before."""
TROUBLE = re.compile(
    r"\b(?:errors?|fail\w*|reproduc\w*|los(?:es?|t|ing)|violat\w*|break\w*|crash\w*|outages?|trap|pointless|useless)\b",
    re.IGNORECASE,
)
"""Words of another clause that may turn an instruction into an experiment or a reproach."""
PRONOUN = re.compile(r"\b(?:it|they|these|those)\b", re.IGNORECASE)
MAX_PIECES = 60
MAX_LISTED = 5
"""A part of an enumeration has at most this many words."""


@dataclass(frozen=True)
class Clause:
    """The part of a sentence that contains a subject, and the parts around it."""

    text: str
    position: int
    """Where the subject begins in the text."""
    subject: str
    """The pattern of the subject."""
    sentence: str
    after: str = ""

    @cached_property
    def is_advice(self) -> bool:
        """Whether the clause advises the subject."""
        text = self.text
        if ERROR_NAME.search(self.sentence):
            return False
        if ELLIPSIS.search(self.after):
            return False
        negations = self.negations
        condition = CONDITION.search(text)
        if condition and condition.start() < self.position:
            main = text[: condition.start()].strip() or self.after
            added = 0 if text[: condition.start()].strip() else self._negations(main)
            return bool(OUTCOME.search(main)) and (negations + added) % 2 == 0
        if negations:
            is_indirect = self._scoped_negation.search(text) or KEEPS.search(text)
            return negations % 2 == 0 and bool(is_indirect)
        before, after = text[: self.position], text[self.position :]
        after = re.sub(rf"^\W*(?:{self.subject})", "", after, count=1, flags=re.IGNORECASE)
        return bool(ADVICE_BEFORE.search(before) or ADVICE_AFTER.search(after) or WITH.search(before))

    def is_about_query(self, *, is_mode_named: bool) -> bool:
        """
        Return whether the words before the verb name a query or its cluster, or nothing at all.

        A pronoun stands for a query only if a sentence before names real-time mode.
        """
        text = self.text
        if OF_THE_CLAUSE_BEFORE.match(self.text) and not self.sentence.startswith(self.text):
            text = f"{re.split(r'[,;]', self.sentence, maxsplit=1)[0]} {text}"
        is_named = is_mode_named or bool(TOPIC.search(self.sentence, 0, max(self.sentence.find(self.text), 0)))
        others = self.sentence.replace(self.text, "")
        return is_plain(PRONOUN.sub("", text) if is_named else text) and not TROUBLE.search(others)

    @cached_property
    def _scoped_negation(self) -> re.Pattern[str]:
        return re.compile(SCOPED_NEGATION.format(subject=self.subject), re.IGNORECASE)

    @cached_property
    def negations(self) -> int:
        """The number of negations in the clause."""
        return self._negations(self.text)

    def _negations(self, text: str) -> int:
        found = [match for match in NEGATION.finditer(text) if not self._is_aside(match)]
        return len(found) + sum(1 for _ in self._scoped_negation.finditer(text))

    def _is_aside(self, match: re.Match[str]) -> bool:
        """Whether a word after the subject negates something else, as in "Photon avoids waiting"."""
        return (
            match.start() > self.position
            and bool(ASIDE.fullmatch(match[0]))
            and not TOPIC.search(self.text, match.end())
        )


def is_plain(text: str) -> bool:
    """Return whether all words of a text belong to queries and clusters, and none to other things."""
    rest = ADVICE.sub(" ", NEGATION.sub(" ", text.lower()))
    return all(PLAIN_SUBJECT.fullmatch(word) for word in re.findall(r"\w[\w+-]*(?:\.\d+)?", rest))


def plain(text: str) -> str:
    """Return a text without the marks of emphasis and code, which stand between words."""
    return re.sub(r"</?\w[^<>]{0,200}>|[*`~]|(?<![\w])_|_(?![\w])", "", text)


@lru_cache(maxsize=200)  # a sentence is read again to see whether it denies the sentence before
def clauses(text: str, subject: str) -> tuple[Clause, ...]:
    """Return each clause of a sentence that contains the subject, which is a pattern."""
    return tuple(_clauses(plain(text), subject))


def _clauses(text: str, subject: str) -> Iterator[Clause]:
    is_subject = re.compile(subject, re.IGNORECASE)
    if not is_subject.search(text):
        return
    pieces = list(_pieces(text))
    for number, piece in enumerate(pieces):
        if is_subject.search(piece.text):
            whole = _with_predicate(pieces, number)
            match = is_subject.search(whole, whole.rfind(piece.text))
            following = pieces[number + 1].text if number + 1 < len(pieces) else ""
            yield Clause(whole, match.start() if match else 0, subject, text, following)


@dataclass(frozen=True)
class _Piece:
    """A part of a sentence between two separators."""

    text: str
    is_listed: bool
    """Whether only a comma separates this part from the one before."""

    @property
    def has_predicate(self) -> bool:
        return bool(NEGATION.search(self.text) or ADVICE.search(self.text))

    @property
    def is_negative(self) -> bool:
        return bool(NEGATION.search(self.text))


def _pieces(text: str) -> Iterator[_Piece]:
    begin, separator = 0, ""
    for match in [*islice(SPLIT.finditer(text), MAX_PIECES), None]:
        piece = text[begin : match.start() if match else None].strip()
        if piece:
            yield _Piece(piece, separator == ",")
            separator = ""
        separator += match[0].strip() if match else ""
        begin = match.end() if match else 0


def _with_predicate(pieces: list[_Piece], number: int) -> str:
    """
    Return a piece; a part of an enumeration has no verb of its own and takes that of its neighbours.

    If its neighbours disagree, the piece stays alone.
    """
    piece = pieces[number]
    if len(piece.text.split()) > MAX_LISTED:
        return piece.text
    if piece.has_predicate or CONDITION.search(piece.text):
        return piece.text
    before = after = number
    while before > 0 and pieces[before].is_listed and not pieces[before].has_predicate:
        before -= 1
    while after + 1 < len(pieces) and pieces[after + 1].is_listed and not pieces[after].has_predicate:
        after += 1
    first, last = pieces[before], pieces[after]
    if first.has_predicate and last.has_predicate and first.is_negative != last.is_negative:
        return piece.text
    begin, end = (before, number) if first.has_predicate else (number, after)
    return ", ".join(each.text for each in pieces[begin : end + 1])
