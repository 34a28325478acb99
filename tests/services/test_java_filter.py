"""The filter drops the log lines that report no fault, and nothing else."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from spark_rtm.services.java import filter_stderr

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
