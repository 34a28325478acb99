"""
Require evidence for each table row in the references that makes a claim about an engine.

Evidence is a link to a test, to a section whose fence the tests run, or to a public source with the date of reading.
"""

from collections.abc import Iterator
from pathlib import Path

from scripts.pack import files
from scripts.pack.checks.claims import EVIDENCE_COLUMN, NO_CLAIM_MARK, Claim, claim_tables, claims
from spark_rtm.text.finding import Finding

_REMEDY = "link the test, the section with the fence, or a public source with `read` or `page of` and a date"


def check_evidence(root: Path) -> Iterator[Finding]:
    """Yield table rows without evidence, and tables without an evidence column."""
    for path in files.references(root):
        name, text = files.relative(root, path), path.read_text(encoding="utf-8")
        for table in claim_tables(text):
            if EVIDENCE_COLUMN not in table.header:
                problem = f"the table whose first column is {table.header[0]!r} has no column {EVIDENCE_COLUMN!r}"
                remedy = f"add the column, or write {NO_CLAIM_MARK} above the table"
                yield Finding(name, table.line, "evidence", problem, remedy)
        for claim in claims(text):
            if lack := _lack(claim):
                yield Finding(name, claim.line, "evidence", f"the row {claim.name!r} has {lack}", _REMEDY)


def _lack(claim: Claim) -> str | None:
    if claim.undefined:
        return f"the link {claim.undefined[0]!r}, which the page does not define"
    if not claim.targets:
        return "no evidence"
    if all(target.startswith("http") for target in claim.targets) and not claim.has_date:
        return "a source without a date"
    return None
