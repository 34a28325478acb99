"""The chatter of Python workers is dropped, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from examples.attribution.demo.stderr_filter import quiet_workers
from tests.helpers import eventually

LINES = (
    "first",
    "Starting Streaming TransformWithStateInPandas Python worker.",
    "",
    "",
    "Streaming TransformWithStateInPandas Python worker finish init stage of Python runner. Received UDF from JVM: x",
    "",
    "last",
)


def test_only_the_chatter_of_a_child_is_dropped(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An error of the JVM still reaches the terminal, and so does whatever this process says."""
    script = tmp_path / "child.py"
    script.write_text(f"import sys\nprint(*{LINES!r}, sep='\\n', file=sys.stderr)\n")
    seen: list[str] = []

    def has_ended() -> bool:
        seen.append(capfd.readouterr().err)
        return "last\n" in "".join(seen)

    with quiet_workers():
        subprocess.run([sys.executable, str(script)], check=True)
    print("own", file=sys.stderr)
    eventually(has_ended, 10, "the last line of the child")

    assert ["", "first", "last", "own"] == sorted("".join(seen).splitlines())
