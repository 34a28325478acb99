"""
Walk the tables of the references and demand evidence for each row about an engine.

The root folder arrives; findings leave.
A row is proved by a test, by a section whose fence runs, or by a public source with the day on which it was read.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.pack import files
from scripts.text import markdown
from scripts.text.finding import Finding

COLUMN = "evidence"
NO_CLAIM = "<!-- no engine claim -->"
GENERATED, END = "<!-- generated: ", "<!-- end -->"
_DATE = re.compile(r"\b20\d\d-\d\d(-\d\d)?\b")
_REMEDY = "link the test, the section with the fence, or a public source with the day it was read"


def check_evidence(root: Path) -> Iterator[Finding]:
    """Yield rows of tables without evidence, and tables without a place for it."""
    for path in files.references(root):
        name, text = files.relative(root, path), path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for table in markdown.tables(text):
            if _is_exempt(lines[: table.line - 1]):
                continue
            if COLUMN not in table.header:
                what = f"the table with {table.header[0]!r} has no column {COLUMN!r}"
                yield Finding(name, table.line, "evidence", what, f"add it, or write {NO_CLAIM} above the table")
                continue
            position = table.header.index(COLUMN)
            for line, cells in table.rows:
                if objection := _objection(cells[position] if position < len(cells) else ""):
                    yield Finding(name, line, "evidence", f"the row {cells[0]!r} has {objection}", _REMEDY)


def _objection(cell: str) -> str | None:
    targets = [link.target for link in markdown.links(cell)]
    if not targets:
        return "no evidence"
    if all(target.startswith("http") for target in targets) and not _DATE.search(cell):
        return "a source with no date"
    return None


def _is_exempt(above: list[str]) -> bool:
    marks = [line for line in above if line.startswith((GENERATED, END))]
    is_generated = bool(marks) and marks[-1].startswith(GENERATED)
    return is_generated or next((line.strip() for line in reversed(above) if line.strip()), "") == NO_CLAIM
