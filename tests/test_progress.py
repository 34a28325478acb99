import io
import sys

import pytest

from scripts import progress

WAITS = "import time; print('Collecting pyarrow==1', flush=True); time.sleep(3)"


def test_long_command_shows_its_newest_package_and_its_time() -> None:
    out = io.StringIO()

    status = progress.main(["Packages", sys.executable, "-c", WAITS], out)

    running, done = out.getvalue().splitlines()
    assert (0, True) == (status, running.startswith("Packages: 1, pyarrow ... "))
    assert done.startswith("Packages: done in ")


def test_short_command_is_silent_and_failed_one_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    script = "import sys; print('no index'); sys.exit(int(sys.argv[1]))"
    statuses = [progress.main(["Packages", sys.executable, "-c", script, status]) for status in ("0", "3")]

    shown = capsys.readouterr()
    assert ([0, 3], "", "\nno index\n") == (statuses, shown.out, shown.err)
