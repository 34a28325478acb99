"""The house rules that a machine can judge, judged over the whole repository."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.pack import files

# The aim is half of it: 150 lines a module, 30 a function.
MODULE_LINES = 400
FUNCTION_LINES = 45
EXAMPLES = files.modules(files.ROOT)
TESTS = sorted(path for path in (files.ROOT / "tests").rglob("*.py") if "cases" not in path.parts)
SCRIPTS = sorted((files.ROOT / "scripts").rglob("*.py"))
FORBIDDEN_IN_TESTS = {"sleep", "mock", "magicmock", "patch", "xfail"}
# Only root can lend a server another user, and not every machine has the packaged Java or a Chromium; CI has them all.
MAY_SKIP = {"tests/services/test_postgres.py", "tests/services/test_java.py", "tests/site/conftest.py"}


def private_imports(tree: ast.Module) -> list[str]:
    """Return imported names that begin with an underscore."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found += filter(_private, [*(node.module or "").split("."), *(alias.name for alias in node.names)])
        elif isinstance(node, ast.Import):
            found += [a.name for a in node.names if any(map(_private, a.name.split(".")))]
    return found


def names_used(tree: ast.Module) -> set[str]:
    """Return every name and attribute of a module, in small letters."""
    names = {node.id.lower() for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr.lower() for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def bad_promises(tree: ast.Module) -> list[str]:
    """Return the tests without a promise in one sentence, and those with numbers or nothing in their names."""
    found = []
    for test in _functions(tree):
        if test.name.startswith("test_"):
            promise = ast.get_docstring(test) or ""
            if not promise.endswith(".") or len(test.name.split("_")) < 4:
                found.append(test.name)
    return found


def long_parts(path: Path) -> list[str]:
    """Return the module and the functions that exceed their budgets."""
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    found = [f"{lines} lines"] if lines > MODULE_LINES else []
    for function in _functions(ast.parse(text)):
        length = (function.end_lineno or 0) - function.lineno + 1
        found += [f"{function.name} has {length} lines"] if length > FUNCTION_LINES else []
    return found


def test_examples_import_nothing_private() -> None:
    """A reader may use every name that an example uses."""
    assert {} == _findings(EXAMPLES, private_imports)


def test_private_import_would_be_found() -> None:
    """The check can fail."""
    assert ["_jvm", "_x"] == private_imports(ast.parse("from a._jvm import b\nfrom c import _x\nimport d\n"))


def test_tests_wait_for_facts_and_use_real_things() -> None:
    """No test sleeps or replaces what it tests; an environment variable may be set."""
    assert {} == _findings(TESTS, lambda tree: sorted(names_used(tree) & FORBIDDEN_IN_TESTS))


def test_tests_do_not_skip() -> None:
    """What cannot run fails, but for the two things that only some machines have."""
    assert {} == _findings([path for path in TESTS if files.relative(files.ROOT, path) not in MAY_SKIP], _skips)


@pytest.mark.parametrize("code", ["time.sleep(1)", "from x import sleep\nsleep(1)", "m = mock.M()"])
def test_forbidden_name_would_be_found(code: str) -> None:
    """The check can fail."""
    assert names_used(ast.parse(code)) & FORBIDDEN_IN_TESTS


def test_tests_promise_something_in_a_sentence() -> None:
    """A test's name is a situation and its outcome, and its docstring says what users may rely on."""
    assert {} == _findings(TESTS, bad_promises)


def test_bare_test_would_be_found() -> None:
    """The check can fail."""
    assert ["test_works", "test_a_b_c"] == bad_promises(
        ast.parse('def test_works():\n    """It works."""\n\ndef test_a_b_c(): ...\n')
    )


def test_no_module_or_function_is_far_over_its_budget() -> None:
    """A reader holds a module in mind; what grows beyond twice the aim is split."""
    long = {files.relative(files.ROOT, path): long_parts(path) for path in [*EXAMPLES, *SCRIPTS]}

    assert {} == {path: parts for path, parts in long.items() if parts}


def test_long_module_and_function_would_be_found(tmp_path: Path) -> None:
    """The check can fail."""
    module = tmp_path / "m.py"
    module.write_text("def f():\n" + "    x = 1\n" * 401)

    assert ["402 lines", "f has 402 lines"] == long_parts(module)


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
