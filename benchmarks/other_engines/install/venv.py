"""
Create the Python environment of an engine once, and keep it in the cache.

Spark and the other engines need incompatible versions of the same libraries, so each engine has its own environment.
"""

import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from benchmarks.other_engines.install.redact import without_addresses
from spark_rtm.services.cache import cache_root, cached_folder

Report = Callable[[str], None]
"""Function that reports one line of progress."""

REPORTED_LINES = ("Collecting", "Downloading", "Installing")
ERROR_PREFIX = "ERROR: "


def to_stderr(line: str) -> None:
    """Print one line of progress to stderr."""
    print(line, file=sys.stderr)


def python_with(requirements: Sequence[str], report: Report = to_stderr, lock: Path | None = None) -> Path:
    """
    Return the Python interpreter of an environment that contains the requirements.

    `lock` is a file with the exact versions and hashes of the requirements and of all packages that they need.
    The environment has the same Python version as this process. If the installation fails, nothing remains in the
    cache, and the function raises RuntimeError with a one-line reason.
    """

    def fill(folder: Path) -> None:
        venv.create(folder, symlinks=True)
        _install(folder / "bin" / "python", requirements, report, lock)

    return cached_folder(_folder_name(requirements, lock), fill) / "bin" / "python"


def is_installed(requirements: Sequence[str], lock: Path | None = None) -> bool:
    """Return whether the cache contains the environment."""
    return (cache_root() / _folder_name(requirements, lock)).is_dir()


def _short(line: str) -> str:
    """Shorten a line of pip output: omit the requiring package and the list of installed packages."""
    if line.startswith("Installing"):
        return f"Installing {line.count(',') + 1} packages"
    return without_addresses(line.partition(" (from ")[0])


def _folder_name(requirements: Sequence[str], lock: Path | None) -> str:
    # The interpreter of an environment is a link to the Python that created it, so the name depends on that Python.
    parts = (*requirements, lock.read_text() if lock else "", sys.version, sys.base_prefix)
    digest = sha256("\n".join(parts).encode()).hexdigest()
    return f"environments/{requirements[0].partition('==')[0]}-{digest[:16]}"


def _install(python: Path, requirements: Sequence[str], report: Report, lock: Path | None) -> None:
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-input", "--progress-bar=off"]
    # Compiled files would contain the name of the temporary folder, which is renamed when the environment is complete.
    command += ["--disable-pip-version-check", "--no-compile"]
    command += ["--require-hashes", "-r", str(lock)] if lock else requirements
    errors = list[str]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout or ():
            if line.startswith(ERROR_PREFIX):
                errors.append(line.removeprefix(ERROR_PREFIX).strip())
            if line.lstrip().startswith(REPORTED_LINES):
                report(_short(line.strip()))
    if pip.returncode:
        reason = errors[-1] if errors else f"exit status {pip.returncode}"
        raise RuntimeError(f"pip cannot install {', '.join(requirements)}: {reason}")
