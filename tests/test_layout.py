import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from scripts.pack import files

# The aim is 150 lines for a module and 30 for a function.
MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 45
MAX_MODULES_IN_FOLDER = 14
EXAMPLES = files.modules(files.ROOT)
TESTS = sorted(path for path in (files.ROOT / "tests").rglob("*.py"))
CODE = sorted(path for base in (*files.CODE, "scripts", "evals") for path in (files.ROOT / base).rglob("*.py"))
IMPORT_LINTER = tomllib.loads((files.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
(CONTRACT,) = IMPORT_LINTER["contracts"]
FORBIDDEN_IN_TESTS = {"sleep", "mock", "magicmock", "patch", "xfail"}
# Only root can lend a server another user, and not every machine has the packaged Java or a Chromium; CI has them all.
MAY_SKIP = {"tests/helpers.py", "tests/services/test_postgres.py", "tests/services/test_java.py"}


def private_imports(tree: ast.Module) -> list[str]:
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found += filter(_private, [*(node.module or "").split("."), *(alias.name for alias in node.names)])
        elif isinstance(node, ast.Import):
            found += [a.name for a in node.names if any(map(_private, a.name.split(".")))]
    return found


def names_used(tree: ast.Module) -> set[str]:
    names = {node.id.lower() for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr.lower() for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def bad_names(tree: ast.Module) -> list[str]:
    """Return tests with names of fewer than three words, which cannot state a situation and its outcome."""
    return [f.name for f in _functions(tree) if f.name.startswith("test_") and len(f.name.split("_")) < 4]


def long_parts(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    found = [f"{lines} lines"] if lines > MAX_MODULE_LINES else []
    for function in _functions(ast.parse(text)):
        length = (function.end_lineno or 0) - function.lineno + 1
        found += [f"{function.name} has {length} lines"] if length > MAX_FUNCTION_LINES else []
    return found


def test_examples_import_nothing_private() -> None:
    """A reader may use every name that an example uses."""
    assert {} == _findings(EXAMPLES, private_imports)


def test_private_import_would_be_found() -> None:
    assert ["_jvm", "_x"] == private_imports(ast.parse("from a._jvm import b\nfrom c import _x\nimport d\n"))


def test_tests_wait_for_facts_and_use_real_things() -> None:
    """No test sleeps or replaces what it tests; an environment variable may be set."""
    assert {} == _findings(TESTS, lambda tree: sorted(names_used(tree) & FORBIDDEN_IN_TESTS))


def test_tests_do_not_skip() -> None:
    """Tests fail instead of skipping, except for two things that only some machines have."""
    assert {} == _findings([path for path in TESTS if files.relative(files.ROOT, path) not in MAY_SKIP], _skips)


@pytest.mark.parametrize("code", ["time.sleep(1)", "from x import sleep\nsleep(1)", "m = mock.M()"])
def test_forbidden_name_would_be_found(code: str) -> None:
    assert names_used(ast.parse(code)) & FORBIDDEN_IN_TESTS


def test_name_of_a_test_is_a_situation_and_its_outcome() -> None:
    assert {} == _findings(TESTS, bad_names)


def test_short_name_would_be_found() -> None:
    assert ["test_works"] == bad_names(ast.parse("def test_works(): ...\ndef test_a_b_c(): ...\n"))


def test_no_module_or_function_is_far_over_its_budget() -> None:
    """A module beyond twice the aim must be split, because a reader cannot remember it."""
    long = {files.relative(files.ROOT, path): long_parts(path) for path in CODE}

    assert {} == {path: parts for path, parts in long.items() if parts}


def test_long_module_and_function_would_be_found(tmp_path: Path) -> None:
    module = tmp_path / "m.py"
    module.write_text("def f():\n" + "    x = 1\n" * 301)

    assert ["302 lines", "f has 302 lines"] == long_parts(module)


def _findings(paths: list[Path], check: object) -> dict[str, list[str]]:
    assert callable(check)
    found = {files.relative(files.ROOT, path): check(ast.parse(path.read_text(encoding="utf-8"))) for path in paths}
    return {path: problems for path, problems in found.items() if problems}


def _skips(tree: ast.Module) -> list[str]:
    return sorted(names_used(tree) & {"skip", "skipif", "importorskip"})


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def imported_programs(root: Path, paths: list[Path]) -> list[str]:
    """Return the modules that are programs (`if __name__ == "__main__"`) and are also imported by other modules."""
    imported = {name for path in paths for name in _imported_names(root, path)}
    programs = {".".join(p.relative_to(root).with_suffix("").parts) for p in paths if _is_program(p)}
    return sorted(programs & imported)


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


def test_no_module_is_both_a_program_and_a_library() -> None:
    """Shared code belongs in a module that does nothing when it is run."""
    assert [] == imported_programs(files.ROOT, CODE)


def test_imported_program_would_be_found(tmp_path: Path) -> None:
    program, user = tmp_path / "program.py", tmp_path / "user.py"
    program.write_text('def main(): ...\n\n\nif __name__ == "__main__":\n    main()\n')
    user.write_text("from program import main\n")

    assert ["program"] == imported_programs(tmp_path, [program, user])


def test_no_folder_holds_more_modules_than_a_reader_keeps_in_mind() -> None:
    """A folder has about a dozen modules; more get subfolders."""
    assert {} == crowded_folders(CODE)


def test_crowded_folder_would_be_found() -> None:
    paths = [Path(f"examples/flat/m{n}.py") for n in range(MAX_MODULES_IN_FOLDER + 1)]

    assert {"examples/flat": MAX_MODULES_IN_FOLDER + 1} == crowded_folders(paths)


@pytest.mark.parametrize("limit", [f"{MAX_MODULE_LINES} for a module", f"{MAX_FUNCTION_LINES} for a function"])
def test_stated_budgets_are_the_enforced_ones(limit: str) -> None:
    assert limit in (files.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def _imported_names(root: Path, path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = path.relative_to(root).parents[node.level - 1].parts if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            yield from (module, *(f"{module}.{alias.name}" for alias in node.names))


def _is_program(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.If) and "__main__" in ast.unparse(node.test) for node in tree.body)
