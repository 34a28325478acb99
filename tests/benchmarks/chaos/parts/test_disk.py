import errno
import subprocess
import sys
from pathlib import Path

# Runs in a separate process, because the mounts belong to the process that creates them.
PROGRAM = """
import sys
from pathlib import Path
from benchmarks.chaos.parts import disk

folder = Path(sys.argv[1])
if not disk.own_mounts():
    sys.exit("cannot mount")
with disk.mounted(folder):
    (folder / "before").write_bytes(bytes(100_000))
    with disk.full(folder):
        try:
            (folder / "within").write_bytes(bytes(100_000))
        except OSError as error:
            print(error.errno)
    (folder / "after").write_bytes(bytes(100_000))
    print(sorted(path.name for path in folder.iterdir()))
print(sorted(path.name for path in folder.iterdir()))
"""


def test_full_disk_refuses_writes_until_it_is_larger_again(tmp_path: Path) -> None:
    """A write fails with ENOSPC while the disk is full. A user without permission to mount gets an error."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )

    if result.returncode:
        assert "cannot mount\n" == result.stderr
    else:
        assert f"{errno.ENOSPC}\n['after', 'before', 'within']\n[]\n" == result.stdout
    assert [] == list(tmp_path.iterdir())
