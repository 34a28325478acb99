"""
Represent the prose of a page as sentences with their context.

The context says whether a sentence is about real-time mode, and whether the page shows it in order to reject it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from spark_rtm.lint.prose.certainty import SOFT, is_certain, is_foreign, is_own
from spark_rtm.lint.prose.polarity import ADVICE, NEGATION, Clause, clauses
from spark_rtm.lint.prose.topics import is_about, names_topic, nearest_topic


@dataclass(frozen=True)
class Sentence:
    """A sentence, a list item, or a cell of a table with its label."""

    line: int
    text: str
    context: tuple[str, ...] = ()
    """Texts that say what the sentence is about: headings, a question, a lead-in; the nearest one last."""
    starts: tuple[tuple[int, int], ...] = ()
    """The positions in the text at which a line of the page begins, each with the number of that line."""
    lead: str = ""
    """The text that introduces a list, such as "Requirements"."""
    is_rejected: bool = False
    """Whether the page shows the sentence in order to reject it."""
    titles: tuple[str, ...] = ()
    """The headings above the sentence."""
    is_statement_of_table: bool = False
    is_code_refused: bool = False
    """Whether the page says that code in the sentence fails."""

    def line_at(self, position: int) -> int:
        """Return the number of the line that contains a position of the text."""
        return next((line for start, line in reversed(self.starts) if start <= position), self.line)

    def line_of(self, subject: str) -> int:
        """Return the number of the line in which a subject, which is a pattern, is named first."""
        match = re.search(subject, self.text, re.IGNORECASE)
        return self.line_at(match.start()) if match else self.line

    @property
    def is_judged(self) -> bool:
        """Whether the page certainly says the sentence itself, and says it of Spark."""
        return not self.is_rejected and is_certain(self.text) and not is_foreign(self.text)

    @property
    def is_own(self) -> bool:
        """Whether the page says the sentence itself."""
        return not self.is_rejected and is_own(SOFT.sub("", self.text))

    @property
    def question(self) -> str:
        """The nearest question above the sentence."""
        return next((text for text in reversed(self.context) if text.rstrip(" *_").endswith("?")), "")

    @property
    def without_question(self) -> Sentence:
        """The sentence without a question in bold before it, which becomes context."""
        question, mark, answer = self.text.partition("?** ")
        if not mark or len(self.starts) > 1:
            return self
        return replace(self, text=answer, context=(*self.context, question + "?"))

    @property
    def is_context_about(self) -> bool:
        """Whether the nearest part of the context that names a mode names real-time mode."""
        return is_about(reversed(self.context))

    @property
    def is_mode_just_named(self) -> bool:
        """Whether a sentence before, in the same paragraph or above the list, names real-time mode last."""
        nearest = self.context[-1] if self.context else ""
        return nearest not in self.titles and names_topic(nearest) is True

    @property
    def full_text(self) -> str:
        """The text, after its lead-in if it has no verb of its own, such as an item "Photon" below "Requirements"."""
        is_bare = self.lead and not (ADVICE.search(self.text) or NEGATION.search(self.text))
        return f"{self.lead}: {self.text}" if is_bare else self.text

    @property
    def is_about(self) -> bool:
        """Whether the sentence, or else the nearest part of its context that names a mode, names real-time mode."""
        return is_about((self.text, *reversed(self.context)))

    def has_plain_subject(self, clause: Clause) -> bool:
        """Whether the subject of a clause is a query or a cluster."""
        nearest = self.context[-1] if self.context and self.context[-1] not in self.titles[:-1] else ""
        is_named = (nearest not in self.titles or nearest.endswith("?")) and names_topic(nearest) is not False
        return clause.is_about_query(is_mode_named=bool(nearest) and is_named)

    def is_clause_about(self, clause: Clause) -> bool:
        """Whether one clause of the sentence is about real-time mode, and its subject a query or a cluster."""
        if not self.is_statement_of_table and not self.has_plain_subject(clause):
            return False
        topic = nearest_topic(clause.text, clause.position)
        if topic is None and names_topic(clause.sentence) is not None:
            topic = nearest_topic(clause.sentence, max(clause.sentence.find(clause.text), 0))
        if topic is not None:
            return topic
        return is_about(reversed(self.context))


@dataclass
class Page:
    """The prose of a page, split into sentences."""

    sentences: list[Sentence] = field(default_factory=list)
    is_about_spark: bool = True

    def claims(self, subject: str) -> Iterator[Sentence]:
        """Yield each sentence that certainly says something about a subject, which is a pattern."""
        if self.is_about_spark:
            is_subject = re.compile(subject, re.IGNORECASE)
            yield from (each for each in self.sentences if is_subject.search(each.text) and each.is_judged)

    def relations(self, subject: str) -> Iterator[Sentence]:
        """Yield each sentence about a subject that the page says itself, although parts may tell of the past."""
        if self.is_about_spark:
            is_subject = re.compile(subject, re.IGNORECASE)
            answers = (each.without_question for each in self.sentences if is_subject.search(each.text))
            yield from (each for each in answers if each.is_own)

    def advice(self, subject: str) -> Iterator[tuple[Sentence, Clause]]:
        """Yield each sentence and clause that advises a subject for real-time mode; the subject is a pattern."""
        found = [
            (sentence, clause)
            for sentence in self.claims(subject)
            for clause in clauses(sentence.full_text, subject)
            if clause.is_advice and sentence.is_clause_about(clause)
        ]
        if found and not self.is_denied(subject):
            yield from found

    def is_denied(self, subject: str, apart_from: Sequence[Sentence] = ()) -> bool:
        """Return whether any sentence of the page denies the subject; then the page knows better than its examples."""
        return any(
            clause.negations % 2 and not clause.is_advice
            for sentence in self.sentences
            if sentence not in apart_from
            for clause in clauses(sentence.full_text, subject)
        )
