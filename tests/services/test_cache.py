"""What is fetched once is complete, shared, and never half there."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from examples.services.cache import cache_root, cached_folder

FILL_SLOWLY = """
import sys, threading
from examples.services.cache import cached_folder

def fill(folder):
    (folder / "part").write_text("half")
    print("filling", flush=True)
    sys.stdin.readline()
    (folder / "part").write_text("whole")

print(cached_folder("thing", fill), flush=True)
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("RTM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _start_filling() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", FILL_SLOWLY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_cache_named_by_the_user_is_used(cache: Path) -> None:
    """The user says where the cache is."""
    assert cache == cache_root()


def test_no_named_cache_falls_back_to_the_users_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a word from the user, the cache is where this system keeps caches."""
    monkeypatch.delenv("RTM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert tmp_path / "spark-rtm" == cache_root()


def test_filled_folder_is_not_filled_again(cache: Path) -> None:
    """What was fetched once is not fetched twice."""
    first = cached_folder("thing", lambda folder: folder.joinpath("part").touch())

    second = cached_folder("thing", lambda _: pytest.fail("filled twice"))

    assert first == second == cache / "thing"


def test_failed_filling_leaves_nothing(cache: Path) -> None:
    """A failure is not taken for a result by the next run."""

    def fail(folder: Path) -> None:
        folder.joinpath("part").touch()
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network"):
        cached_folder("thing", fail)

    assert ["thing.lock"] == [path.name for path in cache.iterdir()]


def test_killed_filling_is_done_again(cache: Path) -> None:
    """A run that was killed while it was fetching neither blocks the next one nor leaves it half a result."""
    with _start_filling() as killed:
        assert _first_line(killed) == "filling"
        killed.send_signal(signal.SIGKILL)

    folder = cached_folder("thing", lambda folder: folder.joinpath("whole").touch())

    assert cache / "thing" == folder
    assert [folder / "whole"] == list(folder.iterdir())


def test_two_processes_at_once_fill_once(cache: Path) -> None:
    """Of two runs that need the same thing at once, one fetches and both get it."""
    with _start_filling() as filling:
        assert _first_line(filling) == "filling"
        with _start_filling() as waiting:
            filling.communicate("go on\n", timeout=30)
            answer, _ = waiting.communicate(timeout=30)

    assert answer.strip() == str(cache / "thing")
    assert cache.joinpath("thing", "part").read_text() == "whole"
