"""
Require evidence for each table row in the references that makes a claim about an engine.

Evidence is a link to a test, to a section with a code block that the tests run, or to a public source with the date on
which it was read. A link may be a reference such as `[docs]`, with a definition at the end of the page. If the first
cell of a row contains names in code type, each linked module must contain at least one of these names. If the row links
to tests, one of these tests, or a module that it imports, must contain one of the names.

A sentence next to a table needs a link to a parametrized test if it begins with "Each", "Every", "All" or "No" and is
about the table's rows, because the evidence in single rows does not prove such a sentence.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from scripts.pack import files
from scripts.pack.checks.links import imported_files
from spark_rtm.text import markdown
from spark_rtm.text.finding import Finding

EVIDENCE_COLUMN = "evidence"
NO_CLAIM_MARK = "<!-- no engine claim -->"
GENERATED_MARK = "<!-- generated: "
END_MARK = "<!-- end -->"
_DATE = re.compile(r"\b(?:read|page of) 20\d\d-\d\d(-\d\d)?\b")
_DEFINITION = re.compile(r"^ {0,3}\[(?P<label>[^\]]+)\]:[ \t]+(?P<source>\S.*)$")
_REFERENCE = re.compile(r"(?:\[[^\]]+\])?\[(?P<label>[^\]]+)\](?![\[(])")
_CODE = re.compile(r"`([^`]+)`")
_NAME = re.compile(r"[A-Za-z_][\w.]{2,}")
_NAMED_FILE = re.compile(r'"(\w+\.(?:scala|json))"')
_SUFFIXES = {".py", ".scala", ".java"}
_REMEDY = "link the test, the section with the fence, or a public source with `read` or `page of` and a date"


class Claim(NamedTuple):
    """A table row that makes a claim about an engine, and the targets of the links in its evidence."""

    line: int
    name: str
    """The text of the row's first cell."""
    targets: tuple[str, ...]
    lack: str
    """What the evidence lacks, or an empty string."""


def check_evidence(root: Path) -> Iterator[Finding]:
    """Yield findings about tables without an evidence column, and rows without evidence or with unrelated links."""
    for path in files.references(root):
        name, text = files.relative(root, path), path.read_text(encoding="utf-8")
        for table in _claim_tables(text):
            if EVIDENCE_COLUMN not in table.header:
                problem = f"the table whose first column is {table.header[0]!r} has no column {EVIDENCE_COLUMN!r}"
                remedy = f"add the column, or write {NO_CLAIM_MARK} above the table"
                yield Finding(name, table.line, "evidence", problem, remedy)
        for claim in claims(text):
            if claim.lack:
                yield Finding(name, claim.line, "evidence", f"the row {claim.name!r} has {claim.lack}", _REMEDY)
            for target in _silent(root, path, claim):
                problem = f"the row {claim.name!r} links to {target}, which does not contain any name from the row"
                remedy = "link the file that proves the row's statement"
                yield Finding(name, claim.line, "evidence", problem, remedy)


def check_sentences(root: Path) -> Iterator[Finding]:
    """Yield each sentence that is about all rows of an adjacent table but links no parametrized test."""
    for path in files.references(root):
        for line, words, targets in _about_all_rows(path.read_text(encoding="utf-8")):
            tests = ((path.parent / target.partition("#")[0]).resolve() for target in targets)
            if not any(test.suffix == ".py" and "parametrize" in test.read_text(encoding="utf-8") for test in tests):
                problem = f"the sentence {words!r} is about all rows of a table, but links to no parametrized test"
                remedy = "link the test whose cases are the rows, or name the rows"
                yield Finding(files.relative(root, path), line, "evidence", problem, remedy)


def claims(text: str) -> Iterator[Claim]:
    """Yield the rows of each table that makes claims about an engine and has an evidence column."""
    sources = _sources(text)
    for table in _claim_tables(text):
        if EVIDENCE_COLUMN in table.header:
            position = table.header.index(EVIDENCE_COLUMN)
            for line, cells in table.rows:
                yield _claim(line, cells[0], cells[position] if position < len(cells) else "", sources)


def _sources(text: str) -> dict[str, str]:
    return {match["label"]: match["source"] for line in markdown.prose(text) if (match := _DEFINITION.match(line))}


def _about_all_rows(text: str) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield the line, the first words and the links of each sentence about all rows of an adjacent table."""
    lines, sources = hand_written(text), _sources(text)
    heads = {table.line - 1: table.header[0] for table in markdown.tables(text)}
    parts = [[*group] for is_text, group in groupby(range(len(lines)), lambda n: bool(lines[n].strip())) if is_text]
    for before, part, after in zip([[], *parts], parts, [*parts[1:], []], strict=False):
        for head in (heads[n] for n in part if n in heads):
            nouns = "|".join(["row", "name", *re.findall(r"[a-z]{3,}", head)])
            begins = re.compile(rf"(?:^|(?<=[.:] ))\[?(?:Each|Every|All|No) (?:\w+ )?(?:{nouns})s?\b.{{0,30}}")
            for n in (*before, *after):
                if match := begins.search(lines[n]):
                    yield n + 1, match[0], _claim(n + 1, "", lines[n], sources).targets


def hand_written(text: str) -> list[str]:
    """Return the lines of a page, with an empty string for each line of a fence or generated part."""
    lines, is_generated = markdown.prose(text), False
    for number, line in enumerate(lines):
        is_generated = (is_generated or line.startswith(GENERATED_MARK)) and not line.startswith(END_MARK)
        lines[number] = "" if is_generated else line
    return lines


def _claim_tables(text: str) -> Iterator[markdown.Table]:
    """Yield a page's tables, except generated tables and tables directly below `NO_CLAIM_MARK`."""
    lines = hand_written(text)
    for table in markdown.tables(text):
        above = [line for line in lines[: table.line - 1] if line.strip()]
        if lines[table.line - 1] and above[-1:] != [NO_CLAIM_MARK]:
            yield table


def _claim(line: int, name: str, evidence: str, sources: dict[str, str]) -> Claim:
    labels = [match["label"] for match in _REFERENCE.finditer(evidence)]
    defined = [sources[label] for label in labels if label in sources]
    targets = (*(link.target for link in markdown.links(evidence)), *(source.split()[0] for source in defined))
    lack = ""
    if undefined := [label for label in labels if label not in sources]:
        lack = f"the link {undefined[0]!r}, which the page does not define"
    elif not targets:
        lack = "no evidence"
    elif all(target.startswith("http") for target in targets) and not _DATE.search(" ".join([evidence, *defined])):
        lack = "a source without a date"
    return Claim(line, name, targets, lack)


def _silent(root: Path, page: Path, claim: Claim) -> list[str]:
    """Return a row's links to code that contains none of the names in the row's first cell."""
    tokens = (token for code in _CODE.findall(claim.name) for token in _NAME.findall(code))
    names = {name for token in tokens for name in _forms(token.strip("."))}
    linked = {target: (page.parent / target.partition("#")[0]).resolve() for target in claim.targets}
    paths = {target: path for target, path in linked.items() if path.suffix in _SUFFIXES and path.is_file()}
    tests = {target for target, path in paths.items() if path.is_relative_to(root.resolve() / "tests")}
    silent = [target for target, path in paths.items() if names and not _contains(root, path, names, target in tests)]
    # A row may state several facts, each with its own test.
    return silent if tests <= set(silent) else [target for target in silent if target not in tests]


def _forms(token: str) -> set[str]:
    """Return the spellings of a name that occur in code, such as the client's `acks` for the `kafka.acks` option."""
    method = {token.rpartition(".")[2]} if token[0].isupper() else set[str]()
    return {token, token.removeprefix("kafka."), *method}


def _contains(root: Path, path: Path, names: set[str], is_test: bool) -> bool:  # noqa: FBT001 - private
    texts = [path.read_text(encoding="utf-8")]
    if is_test and path.suffix == ".py":
        folder = files.relative(root.resolve(), path.parent)
        inner = (*imported_files(texts[0], folder), *(f"{folder}/{name}" for name in _NAMED_FILE.findall(texts[0])))
        texts += [(root / file).read_text(encoding="utf-8") for file in inner if (root / file).is_file()]
    return any(name in text for text in texts for name in names)
