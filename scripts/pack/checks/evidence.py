"""
Require evidence for each table row in the references that makes a claim about an engine.

Evidence is a link to a test, to a section whose fence the tests run, or to a public source with the date of reading.
The link may be a reference such as `[docs]`; its definition at the end of the page then holds the address and the date.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.pack import files
from scripts.text import markdown
from scripts.text.finding import Finding

EVIDENCE_COLUMN = "evidence"
NO_CLAIM_MARK = "<!-- no engine claim -->"
GENERATED_MARK = "<!-- generated: "
END_MARK = "<!-- end -->"
_DATE = re.compile(r"\b(?:read|page of) 20\d\d-\d\d(-\d\d)?\b")
_DEFINITION = re.compile(r"^ {0,3}\[(?P<label>[^\]]+)\]:[ \t]+(?P<source>\S.*)$")
_REFERENCE = re.compile(r"(?:\[[^\]]+\])?\[(?P<label>[^\]]+)\](?![\[(])")
_REMEDY = "link the test, the section with the fence, or a public source with `read` or `page of` and a date"


def check_evidence(root: Path) -> Iterator[Finding]:
    """Yield table rows without evidence, and tables without an evidence column."""
    for path in files.references(root):
        name, text = files.relative(root, path), path.read_text(encoding="utf-8")
        lines = text.splitlines()
        sources = {
            match["label"]: match["source"] for line in markdown.prose(text) if (match := _DEFINITION.match(line))
        }
        for table in markdown.tables(text):
            if _is_exempt(lines[: table.line - 1]):
                continue
            if EVIDENCE_COLUMN not in table.header:
                problem = f"the table whose first column is {table.header[0]!r} has no column {EVIDENCE_COLUMN!r}"
                remedy = f"add the column, or write {NO_CLAIM_MARK} above the table"
                yield Finding(name, table.line, "evidence", problem, remedy)
                continue
            position = table.header.index(EVIDENCE_COLUMN)
            for line, cells in table.rows:
                if lack := _lack(cells[position] if position < len(cells) else "", sources):
                    yield Finding(name, line, "evidence", f"the row {cells[0]!r} has {lack}", _REMEDY)


def _lack(cell: str, sources: dict[str, str]) -> str | None:
    labels = [match["label"] for match in _REFERENCE.finditer(cell)]
    if unknown := [label for label in labels if label not in sources]:
        return f"the link {unknown[0]!r}, which the page does not define"
    defined = [sources[label] for label in labels]
    targets = [*(link.target for link in markdown.links(cell)), *defined]
    if not targets:
        return "no evidence"
    if all(target.startswith("http") for target in targets) and not _DATE.search(" ".join([cell, *defined])):
        return "a source without a date"
    return None


def _is_exempt(above: list[str]) -> bool:
    marks = [line for line in above if line.startswith((GENERATED_MARK, END_MARK))]
    is_generated = bool(marks) and marks[-1].startswith(GENERATED_MARK)
    return is_generated or next((line.strip() for line in reversed(above) if line.strip()), "") == NO_CLAIM_MARK
