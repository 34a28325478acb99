"""Lint the pack's own pages and modules."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from scripts.pack import files, parsed
from spark_rtm.lint.engine import lint_text
from spark_rtm.text.finding import Finding


def check_advice(root: Path) -> Iterator[Finding]:
    """Yield the linter's findings in the pages, and in the modules that readers may copy."""
    for path in [*files.pages(root), *files.modules(root)]:
        yield from _linted(path.read_text(encoding="utf-8"), files.relative(root, path))


@lru_cache(parsed.MAX_TEXTS)  # the tests check many copies of the pack that differ in one file
def _linted(text: str, name: str) -> tuple[Finding, ...]:
    return tuple(lint_text(text, name))
