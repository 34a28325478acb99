"""
Run all checks of the pack.

No check starts Spark or writes to the pack.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

from scripts.pack import files, generate
from scripts.pack.checks.advice import check_advice
from scripts.pack.checks.evidence import check_evidence
from scripts.pack.checks.fences import check_blocking, check_fences
from scripts.pack.checks.links import check_links, check_orphans
from scripts.pack.checks.owners import check_owners
from scripts.pack.checks.skill import check_budgets, check_frontmatter
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
            line, problem = _first_difference(actual, expected)
            yield Finding(files.relative(root, path), line, "generated", problem, REGENERATE_REMEDY)


def _first_difference(actual: str, expected: str) -> tuple[int, str]:
    old, new = actual.splitlines(), expected.splitlines()
    for tag, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            old_text = " ".join(old[old_start:old_end])[:60]
            new_text = " ".join(new[new_start:new_end])[:60]
            return old_start + 1, f"is out of date: contains {old_text!r}, expected {new_text!r}"
    return len(old), "is out of date: only the line endings differ"


CHECKS = (
    check_generated,
    check_frontmatter,
    check_budgets,
    check_links,
    check_orphans,
    check_fences,
    check_blocking,
    check_owners,
    check_evidence,
    check_advice,
)


def validate(root: Path) -> list[Finding]:
    """Return the findings of all checks, sorted."""
    return sorted({finding for check in CHECKS for finding in check(root)})
