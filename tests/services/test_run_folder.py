"""Temporary files of a run are private, and all of them are deleted after the run."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.helpers import eventually

PRINT_FOLDER = "from spark_rtm.services.files.run_folder import run_folder; print(run_folder(), flush=True)"
WAIT_FOREVER = "import threading; threading.Event().wait()"
START_SERVER = f"""
import sys
from pathlib import Path
from spark_rtm.services.child import start_child

child = start_child("server", [sys.executable, "-c", {WAIT_FOREVER!r}], log_path=Path(sys.argv[1]))
"""


def _environment(temporary: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(temporary)}


def _run(temporary: Path) -> Path:
    command = [sys.executable, "-c", PRINT_FOLDER]
    result = subprocess.run(command, env=_environment(temporary), capture_output=True, text=True, check=True)
    return Path(result.stdout.strip())


@contextmanager
def _running(temporary: Path, program: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    command = [sys.executable, "-c", f"{program}\n{PRINT_FOLDER}\n{WAIT_FOREVER}", *arguments]
    with subprocess.Popen(command, env=_environment(temporary), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_other_users_cannot_read_the_folder(tmp_path: Path) -> None:
    with _running(tmp_path, "") as (_, folder):
        assert 0o700 == stat.S_IMODE(folder.stat().st_mode)
        assert tmp_path == folder.parent


def test_ended_run_leaves_no_folder(tmp_path: Path) -> None:
    folder = _run(tmp_path)

    assert tmp_path == folder.parent
    assert [] == list(tmp_path.iterdir())


def test_folder_of_killed_run_is_deleted_by_the_next(tmp_path: Path) -> None:
    """A killed run cannot delete its folder."""
    with _running(tmp_path, "") as (process, folder):
        process.kill()
        process.wait()
    assert [folder] == list(tmp_path.iterdir())
    folder.joinpath("shuffle").mkdir()

    _run(tmp_path)

    assert [] == list(tmp_path.iterdir())


def test_last_server_of_a_killed_run_deletes_the_folder(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with _running(temporary, START_SERVER, str(tmp_path / "log")) as (process, folder):
        assert folder.is_dir()

        process.kill()

        eventually(lambda: not list(temporary.iterdir()), 60, "a deleted folder")


def test_link_in_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    temporary, victim = tmp_path / "temporary", tmp_path / "victim"
    temporary.mkdir()
    victim.mkdir()
    victim.joinpath("file").touch()
    temporary.joinpath("spark-rtm-run-link").symlink_to(victim)

    _run(temporary)

    assert [victim / "file"] == list(victim.iterdir())
