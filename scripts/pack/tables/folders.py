"""Render the map of the folders of code, from the docstrings of their packages."""

import ast
from pathlib import Path

from benchmarks.results.format import table
from scripts.pack import files

FOLDERS = ("spark_rtm", "examples", "benchmarks", "scripts", "evals")


def folders(root: Path, _: str) -> str:
    """Return a table of the packages down to the third level, with the number of their modules."""
    found = [path.parent for name in FOLDERS for path in files.files_below(root / name) if path.name == "__init__.py"]
    rows = [_row(root, folder) for folder in found if len(folder.relative_to(root).parts) <= 3]
    return table(("folder", "what it contains", "modules"), rows)


def _row(root: Path, folder: Path) -> tuple[str, str, str]:
    name = files.relative(root, folder)
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    modules = [path for path in files.files_below(folder) if path.suffix == ".py" and path.name != "__init__.py"]
    return f"[`{name}`]({name}/)", docstring.partition("\n\n")[0].replace("\n", " "), str(len(modules))
