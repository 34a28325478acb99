"""Render the pages of the public modules of `spark_rtm`, which mkdocstrings fills without importing the modules."""

import ast
from pathlib import Path

from scripts.site import tree

PACKAGES = ("realtime", "kafka", "sinks", "testing")
# Pages that explain a task rank above those that list its functions.
FRONTMATTER = "---\nsearch:\n  boost: 0.2\n---\n"


def pages(root: Path) -> dict[str, str]:
    """Return the Markdown of each package's page, keyed by path."""
    return {f"api/{package}.md": _page(root, f"spark_rtm/{package}") for package in PACKAGES}


def modules(root: Path, folder: str) -> dict[str, Path]:
    """Return the paths of the public modules in a folder, keyed by dotted name."""
    paths = sorted(path for path in (root / folder).glob("*.py") if not path.stem.startswith("_"))
    return {f"{folder.replace('/', '.')}.{path.stem}": path for path in paths}


def _page(root: Path, folder: str) -> str:
    known = modules(root, folder)
    sources = {name: tree.target(root, "README.md", f"{folder}/{path.name}") for name, path in known.items()}
    contents = [f"- [`{path.stem}`](#{n}) ([source]({sources[n]})): {_about(path)}" for n, path in known.items()]
    lines = [f"# {folder.replace('/', '.')}", "", _about(root / folder / "__init__.py"), "", *contents, ""]
    return FRONTMATTER + "\n".join([*lines, *(f"::: {name}\n" for name in known)])


def _about(path: Path) -> str:
    """Return the first paragraph of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n\n")[0].replace("\n", " ")
