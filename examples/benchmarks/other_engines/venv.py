"""
Make the Python environment of an engine: created once, kept in the cache, apart from that of Spark.

Pinned requirements arrive, the path of an interpreter that has them leaves.
Real-time mode needs versions of the same libraries that other engines refuse, so one environment cannot hold both.
"""

import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from examples.benchmarks.other_engines.redact import without_addresses
from examples.services.cache import cache_root, cached_folder

Tell = Callable[[str], None]

TOLD = ("Collecting", "Downloading", "Installing")
ERROR = "ERROR: "


def to_stderr(line: str) -> None:
    """Show a line of progress."""
    print(line, file=sys.stderr)


def python_with(requirements: Sequence[str], tell: Tell = to_stderr) -> Path:
    """
    Return an interpreter of this Python's version that has the requirements; `tell` is given lines of progress.

    Raises RuntimeError with a reason in one line when they cannot be installed; nothing stays in the cache then.
    """

    def fill(folder: Path) -> None:
        venv.create(folder, symlinks=True)
        _install(folder / "bin" / "python", requirements, tell)

    return cached_folder(_folder_name(requirements), fill) / "bin" / "python"


def is_made(requirements: Sequence[str]) -> bool:
    """Tell whether the environment is in the cache."""
    return (cache_root() / _folder_name(requirements)).is_dir()


def _short(line: str) -> str:
    """Return what pip is at, without what asked for it and without the list of all that it installs."""
    if line.startswith("Installing"):
        return f"Installing {line.count(',') + 1} packages"
    return without_addresses(line.partition(" (from ")[0])


def _folder_name(requirements: Sequence[str]) -> str:
    # The interpreter of an environment is a link into the Python that it was made with.
    digest = sha256("\n".join((*requirements, sys.version, sys.base_prefix)).encode()).hexdigest()
    return f"environments/{requirements[0].partition('==')[0]}-{digest[:16]}"


def _install(python: Path, requirements: Sequence[str], tell: Tell) -> None:
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-input", "--progress-bar=off"]
    # Compiled files would name the folder that is renamed when it is complete.
    command += ["--disable-pip-version-check", "--no-compile", *requirements]
    errors = list[str]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout or ():
            if line.startswith(ERROR):
                errors.append(line.removeprefix(ERROR).strip())
            if line.lstrip().startswith(TOLD):
                tell(_short(line.strip()))
    if pip.returncode:
        told = errors[-1] if errors else f"exit status {pip.returncode}"
        raise RuntimeError(f"pip cannot install {', '.join(requirements)}: {told}")
