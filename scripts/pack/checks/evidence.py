"""
Require evidence for each table row in the references that makes a claim about an engine.

Evidence is a link to a test, to a section with a code block that the tests run, or to a public source with the date on
which it was read. If the first cell of a row contains names in code type, each linked module must contain at least one
of these names. If the row links to tests, one of these tests, or a module that it imports, must contain one of the
names.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.pack import files
from scripts.pack.checks.claims import EVIDENCE_COLUMN, NO_CLAIM_MARK, Claim, claim_tables, claims
from scripts.pack.checks.links import imported_files
from spark_rtm.text.finding import Finding

_CODE = re.compile(r"`([^`]+)`")
_NAME = re.compile(r"[A-Za-z_][\w.]{2,}")
_NAMED_FILE = re.compile(r'"(\w+\.(?:scala|json))"')
_SUFFIXES = {".py", ".scala", ".java"}
_REMEDY = "link the test, the section with the fence, or a public source with `read` or `page of` and a date"


def check_evidence(root: Path) -> Iterator[Finding]:
    """Yield rows without evidence or with links to unrelated code, and tables without an evidence column."""
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
            for target in _silent(root, path, claim):
                problem = f"the row {claim.name!r} links {target}, which contains no name from the row"
                yield Finding(
                    name, claim.line, "evidence", problem, "link the file that proves the statement of the row"
                )


def _lack(claim: Claim) -> str | None:
    if claim.undefined:
        return f"the link {claim.undefined[0]!r}, which the page does not define"
    if not claim.targets:
        return "no evidence"
    if all(target.startswith("http") for target in claim.targets) and not claim.has_date:
        return "a source without a date"
    return None


def _silent(root: Path, page: Path, claim: Claim) -> list[str]:
    """Return a row's links to code that contains none of the names in the row's first cell."""
    tokens = (token for code in _CODE.findall(claim.name) for token in _NAME.findall(code))
    names = {name for token in tokens for name in _forms(token.strip("."))}
    linked = {target: (page.parent / target.partition("#")[0]).resolve() for target in claim.targets}
    paths = {target: path for target, path in linked.items() if path.suffix in _SUFFIXES and path.is_file()}
    tests = {target for target, path in paths.items() if path.is_relative_to(root.resolve() / "tests")}
    silent = [target for target, path in paths.items() if names and not _contains(root, path, names, target in tests)]
    # A row may state several facts, each with its own test.
    return silent if len(tests - set(silent)) == 0 else [target for target in silent if target not in tests]


def _forms(token: str) -> set[str]:
    """Return the forms in which a name can appear in code, such as the client's `acks` for the option `kafka.acks`."""
    method = {token.rpartition(".")[2]} if token[0].isupper() else set[str]()
    return {token, token.removeprefix("kafka."), *method}


def _contains(root: Path, path: Path, names: set[str], is_test: bool) -> bool:  # noqa: FBT001 - private
    text = path.read_text(encoding="utf-8")
    if any(name in text for name in names):
        return True
    if not is_test or path.suffix != ".py":
        return False
    folder = files.relative(root.resolve(), path.parent)
    inner = [*imported_files(text, folder), *(f"{folder}/{name}" for name in _NAMED_FILE.findall(text))]
    return any(
        name in (root / file).read_text(encoding="utf-8") for file in inner if (root / file).is_file() for name in names
    )
