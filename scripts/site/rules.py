"""
Render a page for each lint rule from the rule's docstring, and a table with links to these pages.

SARIF findings link to the pages. `lint --explain RULE` prints the same text.
"""

import re

from scripts.pack import files
from scripts.site import tree
from spark_rtm.lint.engine import RULES
from spark_rtm.lint.rules.rule import Rule

INDEX = "references/lint_rules.md"
FOLDER = "references/lint_rules"
LANGUAGES = {"module": "python", "page": "text", "cluster": "json"}
_BLOCK = re.compile(r"(<!-- generated: lint-index -->\n).*?(\n<!-- end -->)", re.DOTALL)


def pages() -> dict[str, str]:
    """Return the Markdown of each rule's page, keyed by path."""
    return {f"{FOLDER}/{rule.id}.md": _page(rule) for rule in RULES}


def linked(index: str) -> str:
    """Return the index page with a table that describes each rule and links to the rule's page."""
    rows = [
        f"| [`{rule.id}`](lint_rules/{rule.id}.md) | {rule.severity} | {rule.what.removeprefix('Checks for ')} |"
        for rule in RULES
    ]
    table = "\n".join(["| rule | severity | checks for |", "| --- | --- | --- |", *rows])
    return _BLOCK.sub(lambda block: f"{block[1]}{table}{block[2]}", index)


def _page(rule: Rule) -> str:
    sections = {
        "Why it is bad": rule.why,
        "Reported at": rule.reported_at,
        "Wrong example": _fence(rule, rule.example),
        "Use instead": _fence(rule, rule.use_instead),
        "Engines": rule.engine_text,
        "Source": tree.linked(files.ROOT, INDEX, "\n".join([rule.source, "", *rule.definitions]), "../"),
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items() if text)
    see = f"[Lint rules](../lint_rules.md) lists all rules. `# rtm: ignore[{rule.id}] reason` silences a line."
    return f"---\ntitle: {rule.id}\nsearch:\n  exclude: true\n---\n\n# {rule.id}\n\n{rule.what}\n{see}\n\n{body}\n"


def _fence(rule: Rule, text: str) -> str:
    return f"```{LANGUAGES[rule.subject]}\n{text}\n```"
