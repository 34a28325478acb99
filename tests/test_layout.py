import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from scripts.pack import files

# The aim is 150 lines for a module and 30 for a function.
MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 45
MAX_MODULES_IN_FOLDER = 14
CODE = sorted(path for base in (*files.CODE, "scripts", "evals") for path in (files.ROOT / base).rglob("*.py"))
IMPORT_LINTER = tomllib.loads((files.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
(CONTRACT,) = IMPORT_LINTER["contracts"]


def long_parts(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    found = [f"{lines} lines"] if lines > MAX_MODULE_LINES else []
    for function in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)):
        length = (function.end_lineno or 0) - function.lineno + 1
        found += [f"{function.name} has {length} lines"] if length > MAX_FUNCTION_LINES else []
    return found


def test_no_module_or_function_is_far_over_its_budget() -> None:
    """A module beyond twice the aim must be split, because a reader cannot remember it."""
    long = {files.relative(files.ROOT, path): long_parts(path) for path in CODE}

    assert {} == {path: parts for path, parts in long.items() if parts}


def test_long_module_and_function_would_be_found(tmp_path: Path) -> None:
    module = tmp_path / "m.py"
    module.write_text("def f():\n" + "    x = 1\n" * 301)

    assert ["302 lines", "f has 302 lines"] == long_parts(module)


def crowded_folders(paths: Iterable[Path]) -> dict[str, int]:
    counts = Counter(path.parent.as_posix() for path in paths if path.name != "__init__.py")
    return {folder: count for folder, count in counts.items() if count > MAX_MODULES_IN_FOLDER}


def test_plan_of_the_house_names_every_module() -> None:
    named = set(re.findall(r"[\w.]+", " ".join(CONTRACT["layers"])))
    found = {
        f"{folder.replace('/', '.')}.{path.stem}"
        for folder in ("spark_rtm", "examples", "examples/attribution")
        for path in (files.ROOT / folder).iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").is_file()) and not path.name.startswith("__")
    }

    assert {"examples.attribution"} == found - named


def test_no_folder_holds_more_modules_than_a_reader_keeps_in_mind() -> None:
    """A folder has about a dozen modules; more get subfolders."""
    assert {} == crowded_folders(CODE)


def test_crowded_folder_would_be_found() -> None:
    paths = [Path(f"examples/flat/m{n}.py") for n in range(MAX_MODULES_IN_FOLDER + 1)]

    assert {"examples/flat": MAX_MODULES_IN_FOLDER + 1} == crowded_folders(paths)


@pytest.mark.parametrize("limit", [f"{MAX_MODULE_LINES} for a module", f"{MAX_FUNCTION_LINES} for a function"])
def test_stated_budgets_are_the_enforced_ones(limit: str) -> None:
    assert limit in (files.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
