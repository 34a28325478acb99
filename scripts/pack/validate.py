"""
Run all checks of the pack.

No check starts Spark or writes to the pack.
"""

from pathlib import Path

from scripts.pack.checks.advice import check_advice, check_triggers
from scripts.pack.checks.evidence import check_evidence
from scripts.pack.checks.fences import check_blocking, check_fences
from scripts.pack.checks.generated import check_generated
from scripts.pack.checks.links import check_links, check_navigation, check_orphans
from scripts.pack.checks.owners import check_owners
from scripts.pack.checks.skill import check_budgets, check_frontmatter, check_rule_engines
from spark_rtm.text.finding import Finding

CHECKS = (
    check_generated,
    check_frontmatter,
    check_budgets,
    check_rule_engines,
    check_links,
    check_orphans,
    check_navigation,
    check_fences,
    check_blocking,
    check_owners,
    check_evidence,
    check_advice,
    check_triggers,
)


def validate(root: Path) -> list[Finding]:
    """Return the findings of all checks, sorted."""
    return sorted({finding for check in CHECKS for finding in check(root)})
