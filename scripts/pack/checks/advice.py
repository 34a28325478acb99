"""
Lint the pack's own pages and examples, and reject invalid triggers everywhere, even in prose.

The linter accepts labelled mistakes, but readers copy triggers more than any other line. An invalid trigger may appear
only in a fence that proves that PySpark refuses it.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from scripts.pack import files, parsed
from spark_rtm.lint.engine import lint_text
from spark_rtm.text.finding import Finding

WRONG_TRIGGER = re.compile(r"realTime\s*=\s*(?:True|False|\d|\"\"|'')")
# PySpark's error condition for a trigger that is not a duration.
REFUSAL_CONDITION = "VALUE_NOT_NON_EMPTY_STR"


def check_advice(root: Path) -> Iterator[Finding]:
    """Yield the linter's findings in pages and examples."""
    for path in [*files.pages(root), *files.modules(root)]:
        yield from _linted(path.read_text(encoding="utf-8"), files.relative(root, path))


@lru_cache(parsed.MAX_TEXTS)  # the tests check many copies of the pack that differ in one file
def _linted(text: str, name: str) -> tuple[Finding, ...]:
    return tuple(lint_text(text, name))


def check_triggers(root: Path) -> Iterator[Finding]:
    """Yield every trigger that is not a duration, except in fences with PySpark's refusal."""
    for path in {*files.pages(root), *files.modules(root), *root.glob("*.md")}:
        yield from wrong_triggers(path.read_text(encoding="utf-8"), files.relative(root, path))


def wrong_triggers(text: str, name: str) -> Iterator[Finding]:
    """Yield the findings of `check_triggers` for one text."""
    proofs = [fence for fence in parsed.fences(text) if fence.options.get("raises") == REFUSAL_CONDITION]
    refused = {number for fence in proofs for number in range(fence.line, fence.end_line)}
    for number, line in enumerate(text.splitlines(), 1):
        wrong = WRONG_TRIGGER.search(line)
        if wrong and number not in refused:
            problem = f"`{wrong[0]}` is not a duration, so PySpark refuses it with {REFUSAL_CONDITION}"
            yield Finding(name, number, "trigger", problem, 'write realTime="5 minutes"')
