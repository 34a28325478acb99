"""`pytest --unit` fails if a test imports PySpark after all, because loading it takes seconds."""

import pytest

from scripts.pack import files

TEST = "def test_module():\n    import {module}\n"


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize(("module", "status"), [("pyspark", 4), ("json", 0)])
def test_unit_run_that_imports_pyspark_fails(
    module: str, status: int, workers: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends with a usage error, also if only a worker process has imported PySpark."""
    monkeypatch.setenv("PYTHONPATH", str(files.ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # loading all plugins takes longer than this run
    pytester.makepyfile(test_module=TEST.format(module=module))

    result = pytester.runpytest_subprocess("-p", "xdist", "-p", "tests.unit_ring", "--unit", "-n", workers)

    assert status == result.ret
    assert ("imported PySpark" in result.stderr.str()) == bool(status)
