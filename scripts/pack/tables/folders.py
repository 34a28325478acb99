"""Render the map of the code, from the docstrings of its packages and modules."""

import ast
from pathlib import Path

from benchmarks.results.format import table
from scripts.pack import files

FOLDERS = ("spark_rtm", "examples", "benchmarks", "scripts", "evals")
INIT = "__init__.py"


def folders(root: Path, _: str) -> str:
    """Return a table of the packages down to the third level, with the number of their modules."""
    packages = [path for path in _python(root) if path.name == INIT and len(path.relative_to(root).parts) <= 4]
    return table(("folder", "what it contains", "modules"), [_row(root, path) for path in packages])


def modules(root: Path, _: str) -> str:
    """Return a list of all modules, with the first paragraph of each docstring."""
    paths = [path for path in _python(root) if path.name != INIT]
    return "\n".join(f"- `{files.relative(root, path)}`: {_summary(path)}" for path in paths)


def _python(root: Path) -> list[Path]:
    return [path for name in FOLDERS for path in files.files_below(root / name) if path.suffix == ".py"]


def _row(root: Path, package: Path) -> tuple[str, str, str]:
    name = files.relative(root, package.parent)
    count = sum(path.suffix == ".py" and path.name != INIT for path in files.files_below(package.parent))
    return f"[`{name}`]({name}/)", _summary(package), str(count)


def _summary(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n\n")[0].replace("\n", " ")
