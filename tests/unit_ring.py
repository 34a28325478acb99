"""A pytest plugin for the innermost ring: `--unit` runs only tests that need neither Spark nor servers."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.durations import ring_of
from tests.imports import imports_package

IMPORTED_PYSPARK = pytest.StashKey[bool]()
WORKER_IMPORTED_PYSPARK = "imported pyspark"
"""Name of the flag in what a worker process reports."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of the innermost ring."""
    parser.addoption("--unit", action="store_true", help="run only tests that need neither Spark nor servers")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--unit`, leave out modules and folders that import Spark or a browser: collecting them takes seconds."""
    if not config.getoption("--unit"):
        return None
    conftest = collection_path / "conftest.py"
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    module = collection_path if is_test else conftest if conftest.is_file() else None
    return True if module and any(imports_package(module, name) for name in ("pyspark", "playwright")) else None


@pytest.hookimpl(trylast=True)  # tests/conftest.py adds markers first
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of the outer rings."""
    if config.getoption("--unit"):
        unit = [item for item in items if ring_of(item) == "unit"]
        config.hook.pytest_deselected(items=[item for item in items if ring_of(item) != "unit"])
        items[:] = unit


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a `--unit` run that has imported PySpark after all, in this process or in a worker."""
    config = session.config
    config.stash[IMPORTED_PYSPARK] = config.stash.get(IMPORTED_PYSPARK, "pyspark" in sys.modules)
    if hasattr(config, "workeroutput"):
        config.workeroutput[WORKER_IMPORTED_PYSPARK] = config.stash[IMPORTED_PYSPARK]
    elif config.getoption("--unit") and config.stash[IMPORTED_PYSPARK]:
        raise pytest.UsageError("a test of the unit ring imported PySpark; mark it `spark` or import it in a fixture")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Learn from a worker whether it has imported PySpark."""
    if getattr(node, "workeroutput", {}).get(WORKER_IMPORTED_PYSPARK):
        node.config.stash[IMPORTED_PYSPARK] = True
