"""The filter drops the log lines of Python workers, and nothing else."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from examples.attribution.demo.stderr_filter import filter_worker_logs

CHILD_LINES = (
    "first",
    "Starting Streaming TransformWithStateInPandas Python worker.",
    "",
    "",
    "Streaming TransformWithStateInPandas Python worker finish init stage of Python runner. Received UDF from JVM: x",
    "",
    "last",
)


def test_filter_drops_only_worker_logs_of_a_child(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Errors of the JVM and lines of this process still reach the terminal."""
    script = tmp_path / "child.py"
    script.write_text(f"import sys\nprint(*{CHILD_LINES!r}, sep='\\n', file=sys.stderr)\n")
    before = set(threading.enumerate())

    with filter_worker_logs():
        (copying,) = set(threading.enumerate()) - before
        subprocess.run([sys.executable, str(script)], check=True)
    os.write(2, b"parent\n")  # `print` writes the line break separately, and the filter may write in between
    # Reading the captured text while the filter writes would lose lines.
    copying.join(60)

    assert ["", "first", "last", "parent"] == sorted(capfd.readouterr().err.splitlines())
