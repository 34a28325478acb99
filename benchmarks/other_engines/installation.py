"""
Install the jars and packages of other engines once, and cache them. The versions of the jars are in `ivy/`.

Spark and the other engines need incompatible versions of the same libraries, so each engine has its own environment.
"""

import subprocess
import sys
import venv
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from spark_rtm.services import packages
from spark_rtm.services.cache import cached_folder

IVY_FILES = Path(__file__).with_name("ivy")


def pinned(name: str) -> list[str]:
    """Return the pinned Maven packages, each as group:name:version."""
    return list(packages.pinned(IVY_FILES / f"{name}.xml").values())


def jars(name: str) -> tuple[Path, ...]:
    """Return the jars. Raise RuntimeError if they cannot be downloaded."""
    return packages.jars(IVY_FILES / f"{name}.xml")


def python_with(requirements: Sequence[str], lock: Path) -> Path:
    """
    Return the Python interpreter of an environment with the requirements.

    `lock` is a file with exact versions and hashes of all packages. The environment has the Python version of this
    process.
    If the installation fails, nothing remains in the cache, and the function raises RuntimeError with the reason.
    """

    def fill(folder: Path) -> None:
        print(f"installing {', '.join(requirements)}, once: up to 450 MB, 850 MB on disk", file=sys.stderr)
        venv.create(folder, symlinks=True)
        _install(folder / "bin" / "python", lock)

    # The interpreter of an environment is a link to the Python that created it, so the name depends on that Python.
    digest = sha256("\n".join((*requirements, lock.read_text(), sys.version, sys.base_prefix)).encode()).hexdigest()
    name = f"environments/{requirements[0].partition('==')[0]}-{digest[:16]}"
    return cached_folder(name, fill) / "bin" / "python"


def _install(python: Path, lock: Path) -> None:
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-input", "--progress-bar=off"]
    # Compiled files would contain the name of the temporary folder, which is renamed when the environment is complete.
    command += ["--disable-pip-version-check", "--no-compile", "--require-hashes", "-r", str(lock)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"pip cannot install the packages of {lock.name}:\n{done.stderr.strip()}")
