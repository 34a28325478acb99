"""
Render the generated parts of pages: the list of pages, settings, error conditions, lint rules, benchmark tables.

This module parses the source code of the settings instead of importing it, so `generate` does not need Spark.
"""

import ast
from collections.abc import Callable
from pathlib import Path

from benchmarks import registry
from benchmarks.results.format import table
from scripts.pack import assistants, files, notices, parsed, verification
from scripts.pack.tables import prove
from scripts.pack.tables.pipeline import chaos, demo, soak
from spark_rtm.lint.engine import GROUPS

Maker = Callable[[Path, str], str]


def router(root: Path, _: str) -> str:
    """Return a list that links each page and states when to read it."""
    lines = []
    for path in files.references(root):
        if files.router_of(path) != files.SKILL:
            continue
        text = path.read_text(encoding="utf-8")
        lines.append(f"- [{files.title(text)}]({files.relative(root, path)}): {files.read_when(text) or ''}\n")
    return "".join(lines)


def settings(root: Path, class_name: str) -> str:
    """Return a table of a settings class: each field, its default and the first line of its description."""
    tree = ast.parse((root / "examples/attribution/settings.py").read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name]
    if not classes:
        raise ValueError(f"examples/attribution/settings.py does not define the class {class_name!r}")
    rows = []
    for field, description in zip(classes[0].body, classes[0].body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and field.value is not None:
            rows.append((f"`{ast.unparse(field.target)}`", f"`{ast.unparse(field.value)}`", _first_line(description)))
    return table(("setting", "default", "meaning"), rows)


def conditions(root: Path, _: str) -> str:
    """Return a table of the error conditions that fences raise, with links to the sections of these fences."""
    links_by_condition: dict[str, list[str]] = {}
    for path in files.references(root):
        text = path.read_text(encoding="utf-8")
        headings = parsed.headings(text)
        for fence in parsed.fences(text):
            if condition := fence.options.get("raises"):
                section = [heading for heading in headings if heading.line < fence.line][-1]
                link = f"[{section.title}]({path.name}#{section.anchor})"
                if link not in links_by_condition.setdefault(condition, []):
                    links_by_condition[condition].append(link)
    rows = [(f"`{condition}`", ", ".join(links)) for condition, links in sorted(links_by_condition.items())]
    return table(("condition", "reproduced and fixed in"), rows)


def lint_rules(_: Path, group: str) -> str:
    """Return a section for each lint rule of a group, built from its docstring, and the cited sources."""
    contents = f"Rules: {', '.join(f'[{rule.id}](#{rule.id})' for rule in GROUPS[group])}.\n"
    sections = "\n".join(rule.section() for rule in GROUPS[group])
    definitions = sorted({definition for rule in GROUPS[group] for definition in rule.definitions})
    return "\n".join([contents, sections, *definitions, ""])


def assistant_folders(_: Path, __: str) -> str:
    """Return a table of the assistants, their commands and their skills folders."""
    header = ("assistant", "its own commands", "folders: personal, project", "source of the folders")
    return table(header, assistants.rows())


def lint_index(_: Path, __: str) -> str:
    """Return a table of all lint rules, with links to their sections."""
    rows = [
        (f"[{rule.id}](lint_rules_{group}.md#{rule.id})", rule.what.removeprefix("Checks for ").rstrip("."))
        for group, rules in GROUPS.items()
        for rule in rules
    ]
    return table(("rule", "checks for"), rows)


BLOCKS: dict[str, Maker] = {
    **registry.BLOCKS,
    "measured-chaos": chaos.faults,
    "measured-demo": demo.comparison,
    "router": router,
    "assistants": assistant_folders,
    "settings": settings,
    "conditions": conditions,
    "lint-rules": lint_rules,
    "lint-index": lint_index,
    "verification": verification.verification,
    "measured-soak": soak.soak,
    "notices-packages": notices.packages_table,
    "notices-jars": notices.jars_table,
    "output-prove": prove.output,
    "output-prove-examples": prove.examples,
}


def _first_line(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value.strip().splitlines()[0]
    return ""
