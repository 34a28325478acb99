"""
Make the tables that pages take from code: the router, the settings, the error conditions, the lint rules.

A root folder and the argument of the page's comment arrive; Markdown leaves.
Nothing here imports what it describes, so no Spark is needed; the lint rules are the exception and need none either.
"""

import ast
from collections.abc import Callable
from pathlib import Path

from scripts.lint.engine import RULES
from scripts.pack import files
from scripts.pack.tables import latency, other_engines, postgres_sink
from scripts.pack.tables.format import table
from scripts.text import markdown

Maker = Callable[[Path, str], str]


def router(root: Path, _: str) -> str:
    """Return a row for each page with its reason to be read."""
    rows = []
    for path in files.references(root):
        text = path.read_text(encoding="utf-8")
        rows.append((f"[{files.title(text)}]({files.relative(root, path)})", files.read_when(text) or ""))
    return table(("page", "read when"), rows)


def settings(root: Path, class_name: str) -> str:
    """Return a row for each field of a settings class: name, default and the first line of its description."""
    tree = ast.parse((root / "examples/attribution/settings.py").read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name]
    if not found:
        raise ValueError(f"examples/attribution/settings.py has no class {class_name!r}")
    rows = []
    for field, note in zip(found[0].body, found[0].body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and field.value is not None:
            rows.append((f"`{ast.unparse(field.target)}`", f"`{ast.unparse(field.value)}`", _first_line(note)))
    return table(("setting", "default", "meaning"), rows)


def conditions(root: Path, _: str) -> str:
    """Return a row for each error condition that a fence of the references provokes, with a link to each section."""
    found: dict[str, list[str]] = {}
    for path in files.references(root):
        text = path.read_text(encoding="utf-8")
        places = markdown.headings(text)
        for fence in markdown.fences(text):
            if condition := fence.options.get("raises"):
                above = [place for place in places if place.line < fence.line][-1]
                link = f"[{above.title}]({path.name}#{above.anchor})"
                if link not in found.setdefault(condition, []):
                    found[condition].append(link)
    return table(
        ("condition", "provoked and fixed in"), [(f"`{name}`", ", ".join(found[name])) for name in sorted(found)]
    )


def lint_rules(_: Path, __: str) -> str:
    """Return a section for each rule of the linter, from the docstring of its function."""
    contents = " · ".join(f"[{rule.id}](#{rule.id})" for rule in RULES)
    return f"{contents}\n\n" + "\n".join(rule.section() for rule in RULES)


BLOCKS: dict[str, Maker] = {
    "router": router,
    "settings": settings,
    "conditions": conditions,
    "lint-rules": lint_rules,
    "measured-postgres-sink": postgres_sink.sink,
    "measured-modes": latency.modes,
    "measured-overview": latency.overview,
    "measured-boundaries": latency.boundaries,
    "measured-costs": latency.costs,
    "measured-tuning": latency.knobs,
    "measured-throughput": latency.load,
    "measured-engine-only": latency.rate_to_stat,
    "measured-other-engines": other_engines.peers,
}


def _first_line(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value.strip().splitlines()[0]
    return ""
