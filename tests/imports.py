"""The imports of a module, read from its source: nothing is executed."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@cache
def imported_modules(root: Path, path: Path) -> frozenset[str]:
    """Return the modules of the repository that a module imports, as paths without suffix."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names |= _names(root, path, node)
    return frozenset(name.removesuffix(".py") for name in _files(root, names))


def imports_package(path: Path, name: str) -> bool:
    """Return whether importing a test module imports a package such as `pyspark`, directly or through other modules."""
    seen, todo = set[Path](), [path, *_conftests(path)]
    while todo:
        module = todo.pop()
        if module not in seen:
            seen.add(module)
            packages, modules = _at_import(module)
            if name in packages:
                return True
            todo += modules
    return False


@cache
def _at_import(path: Path) -> tuple[set[str], list[Path]]:
    """Return the packages and the modules of the repository that a module itself imports when it is imported."""
    # Imports inside functions and below `if TYPE_CHECKING` do not happen when the module is imported.
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names |= _names(ROOT, path, node)
    return {name.partition("/")[0] for name in names}, [ROOT / name for name in _files(ROOT, names)]


def _names(root: Path, path: Path, node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.replace(".", "/") for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        above = path.relative_to(root).parents[node.level - 1].as_posix() if node.level else ""
        module = "/".join(filter(None, (above, (node.module or "").replace(".", "/"))))
        return {module, *(f"{module}/{alias.name}" for alias in node.names)}
    return set()


def _files(root: Path, names: set[str]) -> set[str]:
    modules = {f"{name}.py" for name in names if (root / f"{name}.py").is_file()}
    return modules | {f"{name}/__init__.py" for name in names if (root / name / "__init__.py").is_file()}


def _conftests(path: Path) -> list[Path]:
    folders = [folder for folder in path.parents if folder.is_relative_to(ROOT / "tests")]
    return [folder / "conftest.py" for folder in folders if (folder / "conftest.py").is_file()]
