"""Count the code blocks that the tests run and the table rows that have evidence, for the README."""

from collections import Counter
from pathlib import Path

from scripts.pack import files, parsed
from scripts.pack.checks.claims import claims
from spark_rtm.text import markdown


def verified(root: Path, _: str) -> str:
    """Return the README's sentences about tested code blocks, table rows with evidence, and untested claims."""
    blocks, rows = block_counts(root), row_counts(root)
    return (
        f"The tests run {blocks['run']} Python blocks of the pages on OSS 4.3.0 with a real Kafka broker, and "
        f"check that {blocks['raises']} others fail with the error that the page shows.\n"
        f"Of {rows.total()} table rows about an engine, {rows['executed']} cite a test and {rows['public']} others "
        f"cite a public source with a date.\n"
        f"We have run nothing on Databricks; what the pages say about it comes from its documentation.\n"
    )


def block_counts(root: Path) -> Counter[str]:
    """
    Return the number of Python blocks with each of the options `raises`, `excerpt` and `requires`.

    Blocks with none of these options count as `run`.
    """
    fences = (fence for path in files.pages(root) for fence in parsed.fences(path.read_text(encoding="utf-8")))
    return Counter(_fate(fence) for fence in fences if fence.is_python)


def row_counts(root: Path) -> Counter[str]:
    """
    Return the number of table rows with a claim about an engine, keyed by the kind of evidence.

    The kind is that of the strongest evidence in the row: `executed`, `public` or `pack`.
    """
    return Counter(
        _kind(path, claim.targets)
        for path in files.references(root)
        for claim in claims(path.read_text(encoding="utf-8"))
    )


def _fate(fence: markdown.Fence) -> str:
    return next((option for option in ("raises", "excerpt", "requires") if option in fence.options), "run")


def _kind(page: Path, targets: tuple[str, ...]) -> str:
    if any(target.startswith("../tests/") or _is_tested_section(page, target) for target in targets):
        return "executed"
    return "public" if any(target.startswith("http") for target in targets) else "pack"


def _is_tested_section(page: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    if not anchor or "://" in target:
        return False
    text = (page.parent / name if name else page).read_text(encoding="utf-8")
    headings = parsed.headings(text)
    [heading] = [heading for heading in headings if heading.anchor == anchor]
    later = (other.line for other in headings if other.line > heading.line and other.level <= heading.level)
    end = next(later, len(text.splitlines()) + 1)
    fences = [fence for fence in parsed.fences(text) if fence.is_python and heading.line < fence.line < end]
    return any(_fate(fence) in {"run", "raises"} for fence in fences)
