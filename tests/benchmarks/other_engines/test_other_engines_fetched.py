"""Packages of the other engines are downloaded once, and an unavailable engine is reported with the reason."""

import subprocess
import zipfile
from pathlib import Path

import pytest

from benchmarks.other_engines.install.redact import without_addresses
from benchmarks.other_engines.install.venv import python_with
from tests.helpers import ivy_settings

pytestmark = pytest.mark.spark
WHEEL = {
    "tiny_engine.py": "",
    "tiny_engine-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny-engine\nVersion: 1.0\n",
    "tiny_engine-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tiny_engine-1.0.dist-info/RECORD": "".join(
        f"tiny_engine{name},,\n" for name in (".py", "-1.0.dist-info/METADATA", "-1.0.dist-info/WHEEL")
    ),
}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny_engine-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in WHEEL.items():
            wheel.writestr(name, text)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("RTM_IVY_SETTINGS", str(ivy_settings(folder)))
    return folder


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _environments(cache: Path) -> list[str]:
    return [path.name for path in cache.glob("environments/*") if path.suffix != ".lock"]


def test_environment_is_created_once_and_separate_from_sparks(index: Path, empty_cache: Path) -> None:
    """An engine can import its own packages but not PySpark, and the second use needs no package index."""
    reported = list[str]()
    python = python_with(("tiny-engine==1.0",), reported.append)
    index.rename(index.with_name("gone"))

    again = python_with(("tiny-engine==1.0",), reported.append)

    assert python == again
    assert empty_cache in python.parents
    assert ["Installing 1 packages"] == [line for line in reported if line.startswith("Installing")]
    imports = [[str(python), "-I", "-c", f"import {name}"] for name in ("tiny_engine", "pyspark")]
    assert [0, 1] == [subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode for command in imports]


def test_package_with_another_hash_is_not_installed(index: Path, empty_cache: Path, tmp_path: Path) -> None:
    """If the index has another file than the one whose hash is committed, nothing is installed."""
    lock = tmp_path / "lock.txt"
    lock.write_text(f"tiny-engine==1.0 --hash=sha256:{'0' * 64}\n")

    with pytest.raises(RuntimeError, match="THESE PACKAGES DO NOT MATCH THE HASHES"):
        python_with(("tiny-engine==1.0",), lock=lock)

    assert [] == _environments(empty_cache)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Downloading https://mirror.example/a/b.whl (3 MB)", "Downloading (address) (3 MB)"),
        ("HTTPSConnectionPool(host='mirror.example', port=443)", "HTTPSConnectionPool(host=(address), port=443)"),
        ("not in the cache /home/somebody/.cache: give up", "not in the cache (address): give up"),
        ("org.apache.kafka#kafka-streams;4.3.1: not found", "org.apache.kafka#kafka-streams;4.3.1: not found"),
        ("and/or 1/2", "and/or 1/2"),
    ],
    ids=["URL", "host", "folder", "package", "slashes of words"],
)
def test_addresses_are_removed_from_a_reason(text: str, expected: str) -> None:
    """A published reason contains neither paths of this machine nor addresses of mirrors."""
    assert expected == without_addresses(text)
