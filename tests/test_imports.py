import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scripts.pack import files


def broken_contracts(tree: Path) -> list[str]:
    """Return the first lines of import-linter's report on the broken contracts of a tree."""
    command = [
        str(Path(sys.executable).with_name("lint-imports")),
        "--no-logo",
        "--no-cache",
        "--config",
        "pyproject.toml",
    ]
    report = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False).stdout
    return re.findall(r"^(.+) BROKEN", report, re.MULTILINE)


def skeleton(folder: Path) -> Path:
    """Return a folder with the contracts of this repository and an empty module for each name in them."""
    # The skeleton has none of the imports that a contract ignores.
    text = (files.ROOT / "pyproject.toml").read_text("utf-8") + 'unmatched_ignore_imports_alerting = "none"\n'
    (folder / "pyproject.toml").write_text(text, "utf-8")
    linter = tomllib.loads(text)["tool"]["importlinter"]
    names = {f"{name}.__init__" for name in linter["root_packages"]}
    for contract in linter["contracts"]:
        for container in contract.get("containers", []):
            names |= {f"{container}.{name}" for layer in contract["layers"] for name in re.findall(r"\w+", layer)}
    packages = {name.rpartition(".")[0] for name in names}
    for name in (names - packages) | {f"{package}.__init__" for package in packages}:
        path = folder / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


@pytest.mark.parametrize(
    ("path", "text", "broken"),
    [
        ("examples/quickstart.py", "import spark_rtm.cli", []),
        ("spark_rtm/text.py", "import examples", ["Folders at the top import downwards"]),
        ("spark_rtm/realtime.py", "import spark_rtm.services", ["The library imports downwards"]),
        ("spark_rtm/new.py", "", ["The library imports downwards"]),
        ("spark_rtm/lint/problem.py", "import spark_rtm.lint.engine", ["The linter reads first and judges afterwards"]),
        ("examples/alerts.py", "import examples.acknowledgements", ["The examples do not import each other"]),
        ("examples/new.py", "", ["The examples do not import each other"]),
        ("examples/attribution/topics.py", "import examples.attribution.demo", ["The pipeline imports downwards"]),
        ("examples/attribution/new.py", "", ["The pipeline imports downwards"]),
    ],
)
def test_each_contract_of_imports_can_fail(path: str, text: str, broken: list[str], tmp_path: Path) -> None:
    (skeleton(tmp_path) / path).write_text(text)

    assert broken == broken_contracts(tmp_path)


def test_circle_of_folders_breaks_a_contract(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        folder = skeleton(tmp_path) / "scripts" / one
        folder.mkdir()
        (folder / "__init__.py").touch()
        (folder / "x.py").write_text(f"import scripts.{other}.x")

    assert ["No folder is part of a circle"] == broken_contracts(tmp_path)
