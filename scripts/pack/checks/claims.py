"""
Find the table rows in the references that make a claim about an engine, with the evidence for each claim.

Generated tables, and tables directly below `NO_CLAIM_MARK`, count as tables without such claims. Evidence is a link. If
the link is a reference such as `[docs]`, its target is in the definition at the end of the page.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spark_rtm.text import markdown

EVIDENCE_COLUMN = "evidence"
NO_CLAIM_MARK = "<!-- no engine claim -->"
GENERATED_MARK = "<!-- generated: "
END_MARK = "<!-- end -->"
_DATE = re.compile(r"\b(?:read|page of) 20\d\d-\d\d(-\d\d)?\b")
_DEFINITION = re.compile(r"^ {0,3}\[(?P<label>[^\]]+)\]:[ \t]+(?P<source>\S.*)$")
_REFERENCE = re.compile(r"(?:\[[^\]]+\])?\[(?P<label>[^\]]+)\](?![\[(])")


@dataclass(frozen=True)
class Claim:
    """A table row that makes a claim about an engine, and its evidence."""

    line: int
    name: str
    """The text of the row's first cell."""
    targets: tuple[str, ...]
    """The targets of the links in the row's evidence."""
    undefined: tuple[str, ...]
    """The labels in the evidence for which the page has no link definition."""
    has_date: bool


def claim_tables(text: str) -> Iterator[markdown.Table]:
    """Yield the tables of a page that make claims about an engine."""
    lines = text.splitlines()
    for table in markdown.tables(text):
        if not _is_exempt(lines[: table.line - 1]):
            yield table


def claims(text: str) -> Iterator[Claim]:
    """Yield the rows of each table that makes claims about an engine and has an evidence column."""
    sources = {match["label"]: match["source"] for line in markdown.prose(text) if (match := _DEFINITION.match(line))}
    for table in claim_tables(text):
        if EVIDENCE_COLUMN in table.header:
            position = table.header.index(EVIDENCE_COLUMN)
            for line, cells in table.rows:
                yield _claim(line, cells[0], cells[position] if position < len(cells) else "", sources)


def _claim(line: int, name: str, evidence: str, sources: dict[str, str]) -> Claim:
    labels = [match["label"] for match in _REFERENCE.finditer(evidence)]
    defined = [sources[label] for label in labels if label in sources]
    targets = [*(link.target for link in markdown.links(evidence)), *(source.split()[0] for source in defined)]
    undefined = tuple(label for label in labels if label not in sources)
    return Claim(line, name, tuple(targets), undefined, bool(_DATE.search(" ".join([evidence, *defined]))))


def _is_exempt(above: list[str]) -> bool:
    marks = [line for line in above if line.startswith((GENERATED_MARK, END_MARK))]
    is_generated = bool(marks) and marks[-1].startswith(GENERATED_MARK)
    return is_generated or next((line.strip() for line in reversed(above) if line.strip()), "") == NO_CLAIM_MARK
