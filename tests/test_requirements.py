import re
import subprocess
import tomllib

import pytest

from scripts.pack.files import ROOT
from scripts.requirements import BUILD, GROUPS

REQUIREMENTS = ROOT / "requirements"
DEPENDENCY_GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pins(text: str) -> dict[str, str]:
    return {_canonical(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)}


def _text(file: str) -> str:
    return (REQUIREMENTS / f"{file}.txt").read_text()


def test_files_with_hashes_pin_what_constraints_pin() -> None:
    """Both lists contain the same packages and versions, so a changed constraint needs new hashes."""
    assert _pins((ROOT / "constraints.txt").read_text()) == _pins("".join(map(_text, GROUPS)))


@pytest.mark.parametrize("group", GROUPS)
def test_required_packages_of_group_are_pinned(group: str) -> None:
    required = BUILD if group == "build" else [text for text in DEPENDENCY_GROUPS[group] if isinstance(text, str)]
    installed = {name for file in GROUPS[group] for name in _pins(_text(file))}

    assert {_canonical(re.split(r"[^\w.-]", text)[0]) for text in required} <= installed


@pytest.mark.parametrize("target", ["installed", "installed-dev", "installed-bench", "installed-docs"])
def test_make_installs_only_packages_with_hashes(target: str) -> None:
    """Each call of pip verifies hashes and builds nothing but Spark."""
    command = ["make", "--dry-run", "--always-make", f".venv/{target}"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    calls = re.findall(r"-m pip install .*", printed.replace("\\\n", ""))
    assert calls
    assert [] == [call for call in calls if "--require-hashes --only-binary :all:" not in call]
    assert {"pyspark"} == set(re.findall(r"--no-binary (\S+)", printed))
