"""
Read the rows of a table as statements such as "Photon: required", whatever the order of the columns.

A column about errors, causes or old text is no advice. If a table has a column with fixes, only that column is advice.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from spark_rtm.lint.prose.certainty import is_certain
from spark_rtm.lint.prose.layout import (
    END,
    MAX_SENTENCE,
    MAX_TITLE,
    Layout,
    is_wrong_section,
    lead_in,
    next_line,
    without_comments,
)
from spark_rtm.lint.prose.marks import CONDITION, SIGN, WRONG
from spark_rtm.lint.prose.page import Sentence
from spark_rtm.lint.prose.polarity import ADVICE, NEGATION, plain
from spark_rtm.lint.prose.rejection import is_announced_wrong, is_refuted
from spark_rtm.lint.prose.topics import OTHER_TOPIC, TOPIC, names_topic
from spark_rtm.text import markdown

COLUMN_WRONG = re.compile(
    r"\b(?:bad|don'?t|errors?|before|instead of|avoid|rejected|refused|not|fails?|symptoms?|anti-?patterns?|causes?|"
    r"issues?|problems?|found|currently|today|now|message|previous|reason|why|observed|"
    r"from(?! runtime| version| release| DBR)|checks? for)\b",
    re.IGNORECASE,
)
COLUMN_FIX = re.compile(
    r"\b(?:fix(?:es)?|solutions?|remed(?:y|ies)|resolutions?|right|correct(?:ed|ion)?|after|facts?|instead|what to do|"
    r"should|write this|actions?|do this|use this|workarounds?|mitigations?|better)\b(?!\W*\?)",
    re.IGNORECASE,
)
COLUMN_VERDICT = re.compile(r"\bverdict\b|\b(?:true|correct|right|valid)\s*\?|\btrue or false\b", re.IGNORECASE)
COLUMN_MEASURED = re.compile(r"\b(?:measured|observed|results?|p\d\d|median|benchmark)\b", re.IGNORECASE)
VERDICT = re.compile(
    r"^\W*(?:yes|no|true|false|ok|on|off|supported|not supported|required|optional|\u2705|\u2713|\u2714|\u274c|"
    r"\u2717|\u2718)\W*$",
    re.IGNORECASE,
)
REFUTED = re.compile(r"\b(?:false|wrong|no|myth|untrue|incorrect|outdated)\b|[\u274c\u2717\u2718]", re.IGNORECASE)
NUMBER = re.compile(r"^\W*(?:[a-z]+ )?\d", re.IGNORECASE)
"""How a cell begins that belongs to the first cell of its row, not to real-time mode in general."""
HAS_CONTENT = re.compile(r"[^\W_]|[\u2705\u2713\u2714\u274c\u2717\u2718]")
MAX_MODE_WORDS = 7
MAX_SHORT = 4


@dataclass(frozen=True)
class _Reader:
    """The columns of a table and the headings above it."""

    header: tuple[str, ...]
    titles: tuple[str, ...]

    @cached_property
    def wrong(self) -> set[int]:
        return {
            at
            for at, name in enumerate(self.header)
            if (COLUMN_WRONG.search(name) or SIGN.search(name) or not is_certain(name.replace("?", "")))
            and at not in self.fixes
        }

    @cached_property
    def fixes(self) -> set[int]:
        return {at for at, name in enumerate(self.header) if COLUMN_FIX.search(name)}

    @cached_property
    def verdicts(self) -> set[int]:
        return {at for at, name in enumerate(self.header) if COLUMN_VERDICT.search(name)}

    @cached_property
    def modes(self) -> set[int]:
        """The columns, apart from the first one, whose headings name real-time mode."""
        return {at for at, name in enumerate(self.header) if at and TOPIC.search(name)}

    @cached_property
    def context(self) -> tuple[str, ...]:
        return (*self.titles, " | ".join(self.header)[:MAX_SENTENCE])

    def statements(self, cells: list[str]) -> Iterator[tuple[str, str]]:
        """Yield the statements of a row, each with what it is about."""
        if not cells or any(REFUTED.search(cells[at]) for at in self.verdicts if at < len(cells)):
            return
        label = "" if 0 in self.wrong else cells[0][:MAX_TITLE].rstrip("? ")
        skipped = self.wrong | self.verdicts
        columns = [at for at, cell in enumerate(cells) if at not in skipped and HAS_CONTENT.search(cell)]
        mode = next((at for at in columns if _is_mode(cells[at])), None)
        if self.fixes:
            symptom = next((cell for at, cell in enumerate(cells) if at not in self.fixes and names_topic(cell)), "")
            for at in (at for at in columns if at in self.fixes):
                yield f"{label}: {cells[at]}" if label and at else cells[at], symptom
        elif self.modes:
            yield from ((f"{label}: {cells[at]}", self.header[at]) for at in columns if at in self.modes)
        elif mode is not None:
            yield from self._of_mode(cells, columns, mode)
        elif len(cells) == len(columns) == 2 and VERDICT.match(cells[0]):  # an answer and a subject
            yield f"{self._label(cells[1], 0)}: {cells[0]}", ""
        else:
            yield from self._of_label(cells, columns, label)

    def _of_label(self, cells: list[str], columns: list[int], label: str) -> Iterator[tuple[str, str]]:
        """Yield the statements of a row whose first cell is the subject of the other cells."""
        is_denied = any(NEGATION.search(cells[at]) for at in columns if at and len(cells[at].split()) <= MAX_SHORT)
        for at in columns[0 if len(columns) == 1 or self.wrong else 1 :]:
            if at and OTHER_TOPIC.search(label) and TOPIC.search(cells[at]):
                yield f"{label}: {cells[at]}", ""
            if at and label and (VERDICT.match(cells[at]) or not ADVICE.search(label)):
                statement = f"{self._label(label, at)}: {cells[at]}"
                if not is_denied or NEGATION.search(statement):
                    yield statement, ""
                if len(cells[at].split()) <= MAX_SHORT:
                    continue
            yield cells[at], ""

    def _of_mode(self, cells: list[str], columns: list[int], mode: int) -> Iterator[tuple[str, str]]:
        """Yield the statements of a row in which one cell names a mode."""
        if not any(TOPIC.search(cells[at]) for at in columns if _is_mode(cells[at])):
            yield from ((f"{cells[mode]}: {cells[at]}", "") for at in columns if at > mode and TOPIC.search(cells[at]))
            return
        for at in columns:
            if at != mode and at < len(self.header) and (0 in (at, mode) or not NUMBER.match(cells[at])):
                yield f"{plain(self.header[at]).rstrip('?: ')}: {cells[at]}", cells[mode]
                if not COLUMN_MEASURED.search(self.header[at]):
                    yield f"{cells[mode]}: {cells[at]}", cells[mode]

    def _label(self, label: str, column: int) -> str:
        """Return a row's label, with the heading of the column if that has a meaning such as "required"."""
        heading = plain(self.header[column]).rstrip("?: ") if column < len(self.header) else ""
        return f"{label} {heading}" if ADVICE.search(heading) or NEGATION.search(heading) else label


def _is_mode(cell: str) -> bool:
    is_name = len(cell.split()) <= MAX_MODE_WORDS and names_topic(cell) is not None
    return is_name and not (ADVICE.search(cell) or NEGATION.search(cell))


def row_sentences(table: markdown.Table, titles: tuple[str, ...]) -> Iterator[Sentence]:
    """Yield the statements in the rows of a table."""
    reader = _Reader(table.header, titles)
    if not reader.fixes and is_wrong_section(titles):
        return
    for line, row in table.rows:
        cells = [" ".join(without_comments(cell).split()) for cell in row]
        others = [cell for at, cell in enumerate(cells) if at not in reader.wrong | reader.fixes]
        refusing = [cell for cell in others if WRONG.search(cell) or CONDITION.search(cell)]
        for text, about in reader.statements(cells):
            is_refused = any(cell not in text for cell in refusing)
            for part in (text, *_parts(text)):
                context = (*reader.context, about) if about else reader.context
                for start in range(0, max(len(part), 1), MAX_SENTENCE):
                    piece = part[start : start + MAX_SENTENCE]
                    yield Sentence(
                        line, piece, context, ((0, line),), is_statement_of_table=True, is_code_refused=is_refused
                    )


def is_wrong_table(layout: Layout, table: markdown.Table) -> bool:
    """Return whether the line before a table announces it as wrong, or the line after it rejects it."""
    last = table.rows[-1][0] if table.rows else table.line
    return is_announced_wrong(lead_in(layout.lines, table.line)) or is_refuted("", next_line(layout.lines, last))


def _parts(text: str) -> list[str]:
    parts = END.split(text)
    return parts if len(parts) > 1 else []
