"""
Count what the tests do with the code blocks of the pages, and the kinds of evidence in tables.

The README and CONTRIBUTING.md print these numbers, so no sentence claims more.
"""

from collections import Counter
from pathlib import Path

from benchmarks.results.format import table
from scripts.pack import files, parsed
from scripts.pack.checks.claims import claims
from spark_rtm.text import markdown

BLOCKS = {
    "run": "Python blocks that run on OSS 4.3.0",
    "raises": "Python blocks that OSS 4.3.0 refuses with the stated condition",
    "excerpt": "Python blocks that equal the code of a module",
    "requires": "Python blocks for Databricks, only linted",
    "parsed": "JSON, YAML, TOML, SQL, Scala and Java blocks, only parsed or compiled",
    "bash": "shell blocks, whose programs, files and `make` targets exist",
    "text": "diagrams and other text, not checked",
}
LANGUAGES = {**dict.fromkeys(("json", "yaml", "toml", "sql", "scala", "java"), "parsed"), "bash": "bash"}
ROWS = {
    "executed": "table rows about an engine whose evidence is a test or a block that runs",
    "public": "table rows about an engine whose evidence is a public source with a date",
    "both": "table rows about an engine with both kinds of evidence",
    "pack": "table rows about an engine that only link to another page or a module",
}


def verification(root: Path, _: str) -> str:
    """Return a table of code blocks by their test, and of table rows by their evidence."""
    blocks, rows = block_counts(root), row_counts(root)
    lines = [(text, blocks[name]) for name, text in BLOCKS.items()] + [
        (text, rows[name]) for name, text in ROWS.items()
    ]
    return table(("on all pages", "number"), [(text, str(number)) for text, number in lines])


def verified(root: Path, _: str) -> str:
    """Return the README's sentences about blocks that run, rows with evidence, and untested claims."""
    blocks, rows = block_counts(root), row_counts(root)
    tested = rows["executed"] + rows["both"]
    return (
        f"The tests run {blocks['run']} Python blocks of the pages on OSS 4.3.0 with a real Kafka broker, and "
        f"check that {blocks['raises']} others fail with the error that the page shows.\n"
        f"Of {rows.total()} table rows about an engine, {tested} cite a test and {rows['public']} others cite a "
        f"public source with a date ([all counts](CONTRIBUTING.md#what-is-verified)).\n"
        f"We have run nothing on Databricks; what the pages say about it comes from its documentation.\n"
    )


def block_counts(root: Path) -> Counter[str]:
    """Return the number of code blocks on all pages by key of `BLOCKS`."""
    return Counter(
        _fate(fence) for path in files.pages(root) for fence in parsed.fences(path.read_text(encoding="utf-8"))
    )


def row_counts(root: Path) -> Counter[str]:
    """Return the number of table rows with engine claims by key of `ROWS`."""
    return Counter(
        _kind(path, claim.targets)
        for path in files.references(root)
        for claim in claims(path.read_text(encoding="utf-8"))
    )


def _fate(fence: markdown.Fence) -> str:
    if fence.is_python:
        return next((option for option in ("raises", "excerpt", "requires") if option in fence.options), "run")
    return LANGUAGES.get(fence.language, "text")


def _kind(page: Path, targets: tuple[str, ...]) -> str:
    is_executed = any(target.startswith("../tests/") or _is_tested_section(page, target) for target in targets)
    if any(target.startswith("http") for target in targets):
        return "both" if is_executed else "public"
    return "executed" if is_executed else "pack"


def _is_tested_section(page: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    if not anchor or "://" in target:
        return False
    text = (page.parent / name if name else page).read_text(encoding="utf-8")
    headings = parsed.headings(text)
    [heading] = [heading for heading in headings if heading.anchor == anchor]
    later = (other.line for other in headings if other.line > heading.line and other.level <= heading.level)
    end = next(later, len(text.splitlines()) + 1)
    return any(_fate(fence) in {"run", "raises"} and heading.line < fence.line < end for fence in parsed.fences(text))
