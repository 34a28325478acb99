"""
Build two archives for running a job on workers that lack this checkout and its Python packages.

`spark-submit --py-files` sends the code, and `--archives` sends the packages that PySpark's Python workers need for
state and for pandas. The workers need only Spark, Java and a Python of the same minor version.
"""

import re
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import distribution, distributions
from importlib.util import find_spec
from pathlib import Path

LIBRARY = Path(__file__).parents[1]
"""The `spark_rtm` package folder."""
WORKER_PACKAGES = ("confluent-kafka", "pandas", "protobuf", "pyarrow")
"""Packages for Python workers. The first is for `spark_rtm`, the others are for PySpark's state processors."""
UNUSED_PARTS = {"__pycache__", "include", "tests"}
CODE_ARCHIVE, PACKAGES_ARCHIVE = "job.zip", "packages.tar"
PACKAGES_FOLDER = "packages"
"""Worker folder into which Spark unpacks the package archive."""


def write_code_archive(path: Path, packages: Iterable[str] = ()) -> Path:
    """Write the modules of `spark_rtm` and the given packages to a zip file, and return the file's path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in (LIBRARY, *map(_folder_of, packages)):
            for module in sorted(folder.rglob("*.py")):
                archive.write(module, module.relative_to(folder.parent))
    return path


def write_packages_archive(path: Path) -> Path:
    """Write the installed packages that Python workers need to a tar file, and return the file's path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Compression would take ten times as long, for a file that is read only a few times.
    with tarfile.open(path, "w") as archive:
        for name in packages_of_workers():
            found = distribution(name)
            for file in found.files or ():
                if ".." not in file.parts and not UNUSED_PARTS & set(file.parts):
                    archive.add(Path(str(found.locate_file(file))), str(file), recursive=False)
    return path


def packages_of_workers() -> list[str]:
    """Return `WORKER_PACKAGES` and their installed requirements."""
    names = list(WORKER_PACKAGES)
    installed = {_normalized(found.name) for found in distributions()}
    for name in names:
        # Extras are optional, and the other conditions apply to other Python versions.
        required = [text for text in distribution(name).requires or () if "extra" not in text]
        names += {_normalized(re.split(r"[^\w.-]", text)[0]) for text in required} & installed - {*names}
    return names


def _normalized(name: str) -> str:
    """Normalize a package name, in which `_`, `-` and `.` are equivalent (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _folder_of(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(
            f"{package!r} is not a package that Python finds here, so it cannot be sent to the workers; check the name"
        )
    return Path(spec.submodule_search_locations[0])


def packages_id() -> str:
    """Return a short string that identifies the packages, their versions, Python and the platform."""
    versions = sorted(f"{name}=={distribution(name).version}" for name in packages_of_workers())
    parts = [*versions, sys.version, sysconfig.get_platform(), *sorted(UNUSED_PARTS)]
    return sha256("\n".join(parts).encode()).hexdigest()[:16]
