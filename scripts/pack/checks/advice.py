"""
Hold the pack to its own advice: the linter over pages and modules, and no wrong trigger, not even in a sentence.

The root folder arrives; findings leave.
The linter excuses what a sentence calls wrong; the trigger, which everybody copies, is wrong only in proven refusals.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.lint.engine import lint_text
from scripts.pack import files
from scripts.text import markdown
from scripts.text.finding import Finding

WRONG_TRIGGER = re.compile(r"realTime\s*=\s*(?:True|False|\d|\"\"|'')")
# The condition by which PySpark refuses such a value, and the block of pages that shows what the linter finds.
REFUSAL, RULES = "VALUE_NOT_NON_EMPTY_STR", "<!-- generated: lint-rules"


def check_advice(root: Path) -> Iterator[Finding]:
    """Yield what the linter finds in the pages and in the examples."""
    for path in [*files.pages(root), *files.modules(root)]:
        yield from lint_text(path.read_text(encoding="utf-8"), files.relative(root, path))


def check_triggers(root: Path) -> Iterator[Finding]:
    """Yield every trigger that is not a duration, outside of the fences that prove its refusal."""
    for path in {*files.pages(root), *files.modules(root), *root.glob("*.md")}:
        yield from wrong_triggers(path.read_text(encoding="utf-8"), files.relative(root, path))


def wrong_triggers(text: str, name: str) -> Iterator[Finding]:
    """Yield the triggers of one text that are not a duration."""
    proofs = [fence for fence in markdown.fences(text) if fence.options.get("raises") == REFUSAL]
    refused = {number for fence in proofs for number in range(fence.line, fence.end_line)}
    for number, line in enumerate(text.splitlines(), 1):
        wrong = WRONG_TRIGGER.search(line)
        if wrong and number not in refused and RULES not in text:
            what = f"`{wrong[0]}` is no duration, and whoever copies it gets {REFUSAL}"
            yield Finding(name, number, "trigger", what, 'write realTime="5 minutes"')
