"""A cached folder is filled once, shared by all processes, and never incomplete."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spark_rtm.services.cache import cached_folder

FILL_SLOWLY = """
import sys, threading
from spark_rtm.services.cache import cached_folder

def fill(folder):
    (folder / "part").write_text("half")
    print("filling", flush=True)
    sys.stdin.readline()
    (folder / "part").write_text("whole")

print(cached_folder("thing", fill), flush=True)
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _start_filling() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", FILL_SLOWLY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_killed_fill_is_repeated_by_the_next_process(cache: Path) -> None:
    """A process killed while filling a folder neither blocks the next one nor leaves half a result."""
    with _start_filling() as killed:
        assert _first_line(killed) == "filling"
        killed.send_signal(signal.SIGKILL)

    folder = cached_folder("thing", lambda folder: folder.joinpath("whole").touch())

    assert cache / "thing" == folder
    assert [folder / "whole"] == list(folder.iterdir())


def test_two_processes_at_once_fill_only_once(cache: Path) -> None:
    with _start_filling() as filling:
        assert _first_line(filling) == "filling"
        with _start_filling() as waiting:
            filling.communicate("go on\n", timeout=30)
            output, _ = waiting.communicate(timeout=30)

    assert output.strip() == str(cache / "thing")
    assert cache.joinpath("thing", "part").read_text() == "whole"
