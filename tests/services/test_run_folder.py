"""Temporary files of a run are private, and all of them are deleted after the run."""

import os
import stat
import subprocess
import sys
from pathlib import Path

PRINT_FOLDER = "from spark_rtm.services.files.run_folder import run_folder; print(run_folder(), flush=True)"
WAIT_FOREVER = "import threading; threading.Event().wait()"


def _run(temporary: Path, program: str = PRINT_FOLDER) -> subprocess.Popen[str]:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    return subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)


def test_folder_is_deleted_at_the_end(tmp_path: Path) -> None:
    folder, _ = _run(tmp_path).communicate(timeout=60)

    assert tmp_path == Path(folder.strip()).parent
    assert [] == list(tmp_path.iterdir())


def test_folder_is_private_and_after_a_kill_deleted_by_the_next_run(tmp_path: Path) -> None:
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
