"""Write the README's section "What is verified": count the tested code blocks, and the table rows with evidence."""

from collections import Counter
from pathlib import Path

from scripts.pack import files
from scripts.pack.checks.evidence import claims
from spark_rtm.text import markdown


def verified(root: Path, _: str) -> str:
    """Return the README's sentences about tested code blocks, table rows with evidence, and untested claims."""
    found = counts(root)
    rows = sum(found[kind] for kind in ("executed", "public", "pack"))
    return (
        f"The tests run {found['run']} Python blocks of the pages on OSS 4.3.0 with a real Kafka broker, and "
        f"check that {found['raises']} others fail with the error that the page shows.\n"
        f"Of {rows} table rows about an engine, {found['executed']} cite a test and {found['public']} others "
        f"cite a public source with a date.\n"
        f"We have run nothing on Databricks; what the pages say about it comes from its documentation.\n"
    )


def counts(root: Path) -> Counter[str]:
    """
    Count the Python blocks of the pages and the claims of the references.

    The key of a block is its option `raises`, `excerpt` or `requires`, otherwise `run`. The key of a claim is the
    strongest kind of its evidence: `executed`, `public` or `pack`.
    """
    blocks = (fence for path in files.pages(root) for fence in markdown.fences(path.read_text(encoding="utf-8")))
    rows = ((path, claim) for path in files.references(root) for claim in claims(path.read_text(encoding="utf-8")))
    kinds = (_kind(path, claim.targets) for path, claim in rows)
    return Counter([*(_fate(fence) for fence in blocks if fence.is_python), *kinds])


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
    headings = markdown.headings(text)
    [heading] = [heading for heading in headings if heading.anchor == anchor]
    later = (other.line for other in headings if other.line > heading.line and other.level <= heading.level)
    end = next(later, len(text.splitlines()) + 1)
    fences = [fence for fence in markdown.fences(text) if fence.is_python and heading.line < fence.line < end]
    return any(_fate(fence) in {"run", "raises"} for fence in fences)
