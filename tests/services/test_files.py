"""A cached folder is filled once and never incomplete; a run's temporary files are private and deleted afterwards."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from spark_rtm.services import job_archive

FILL_SLOWLY = """
import sys, threading
from spark_rtm.services.folders import cached_folder

def fill(folder):
    (folder / "part").write_text("half")
    print("filling", flush=True)
    sys.stdin.readline()
    (folder / "part").write_text("whole")

print(cached_folder("thing", fill), flush=True)
"""
PRINT_FOLDER = "from spark_rtm.services.folders import run_folder; print(run_folder(), flush=True)"
WAIT_FOREVER = "import threading; threading.Event().wait()"


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


def test_killed_fill_is_repeated_by_one_of_the_next_processes(cache: Path) -> None:
    """A process killed while filling a folder neither blocks the next ones nor leaves half a result."""
    with _start_filling() as killed:
        assert _first_line(killed) == "filling"
        killed.kill()
    with _start_filling() as filling:
        assert _first_line(filling) == "filling"
        with _start_filling() as waiting:
            filling.communicate("go on\n", timeout=30)
            output, _ = waiting.communicate(timeout=30)

    assert output.strip() == str(cache / "thing")
    assert ["whole"] == [path.read_text() for path in (cache / "thing").iterdir()]


def _run(temporary: Path, program: str = PRINT_FOLDER) -> subprocess.Popen[str]:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    return subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)


def test_folder_is_private_and_deleted_at_the_end_or_by_the_next_run(tmp_path: Path) -> None:
    with _run(tmp_path, f"{PRINT_FOLDER}\n{WAIT_FOREVER}") as killed:
        assert killed.stdout is not None
        folder = Path(killed.stdout.readline().strip())
        assert 0o700 == stat.S_IMODE(folder.stat().st_mode)
        folder.joinpath("shuffle").mkdir()
        _run(tmp_path).communicate(timeout=60)
        assert [folder] == list(tmp_path.iterdir())
        killed.kill()

    _run(tmp_path).communicate(timeout=60)

    assert [] == list(tmp_path.iterdir())


def test_link_in_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    temporary, victim = tmp_path / "temporary", tmp_path / "victim"
    temporary.mkdir()
    victim.mkdir()
    victim.joinpath("file").touch()
    temporary.joinpath("spark-rtm-run-link").symlink_to(victim)

    _run(temporary).communicate(timeout=60)

    assert [victim / "file"] == list(victim.iterdir())


def test_name_that_is_not_a_package_is_refused(tmp_path: Path) -> None:
    """A module or a missing package cannot be sent as a folder."""
    for name in ("json.decoder", "no_such_package"):
        with pytest.raises(ValueError, match=f"'{name}' is not a package"):
            job_archive.write_code_archive(tmp_path / "job.zip", [name])


def test_requirement_is_found_under_any_spelling() -> None:
    """The Kafka client requires `typing-extensions`, which is installed as `typing_extensions`."""
    assert "typing-extensions" in job_archive.packages_of_workers()
