"""Run all checks on the pack. No check starts Spark or writes to the pack."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from scripts.pack import files, generate
from scripts.pack.checks.commands import check_commands
from scripts.pack.checks.coordinates import check_coordinates
from scripts.pack.checks.evidence import check_evidence, check_sentences
from scripts.pack.checks.fences import check_blocking, check_fences
from scripts.pack.checks.links import check_links, check_orphans
from scripts.pack.checks.owners import check_owners
from spark_rtm.lint.engine import lint_text
from spark_rtm.text.finding import Finding

REGENERATE_REMEDY = "run `python scripts/skills.py generate` and commit the result"


def check_generated(root: Path) -> Iterator[Finding]:
    """Yield a finding at the first outdated line of each outdated file."""
    try:
        texts = generate.render_all(root)
    except ValueError as error:
        name, _, problem = str(error).partition(": ")
        yield Finding(name, 1, "generated", problem, "correct the name, then " + REGENERATE_REMEDY)
        return
    for path, expected in texts.items():
        actual = path.read_text(encoding="utf-8") if path.is_file() else ""
        if actual != expected:
            old, new = [*actual.splitlines(), ""], [*expected.splitlines(), ""]
            line = next((n for n, pair in enumerate(zip(old, new, strict=False)) if len(set(pair)) > 1), 0)
            problem = f"is out of date: contains {old[line][:60]!r}, expected {new[line][:60]!r}"
            yield Finding(files.relative(root, path), line + 1, "generated", problem, REGENERATE_REMEDY)


def check_advice(root: Path) -> Iterator[Finding]:
    """Yield the linter's findings in the pages, and in the modules that readers may copy."""
    for path in [*files.pages(root), *files.modules(root)]:
        yield from _linted(path.read_text(encoding="utf-8"), files.relative(root, path))


@lru_cache(None)  # the tests check many copies of the pack that differ in one file
def _linted(text: str, name: str) -> tuple[Finding, ...]:
    return tuple(lint_text(text, name))


CHECKS = (
    check_generated,
    check_links,
    check_orphans,
    check_fences,
    check_blocking,
    check_owners,
    check_evidence,
    check_sentences,
    check_commands,
    check_coordinates,
    check_advice,
)


def validate(root: Path) -> list[Finding]:
    """Return the findings of all checks, sorted."""
    return sorted({finding for check in CHECKS for finding in check(root)})
