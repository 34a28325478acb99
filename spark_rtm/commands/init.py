"""
Write a project with a real-time job, its tests, and the settings of its tools: `rtm init`.

The project installs this package from a wheel in its folder `vendor/`, so no package index has to provide it. The
command packs the wheel from the running installation, without a network.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import signal
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from xml.etree import ElementTree

from spark_rtm.command_line import Argument
from spark_rtm.program import Command, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[1]
DISTRIBUTION = "spark-real-time-mode"
CONNECTOR = "spark-sql-kafka-0-10_2.13"
TEMPLATE = Path(__file__).with_name("template")
"""Folder with the files of a project. The tests lint and run its Python files as they are."""
FILES = {
    "job.py": "job.py",
    "test_job.py": "test_job.py",
    "try_job.py": "try_job.py",
    # Tools would apply the other files to this repository under their final names.
    "project.toml": "pyproject.toml",
    "agents.txt": "AGENTS.md",
    "gitignore": ".gitignore",
    "pre-commit-config.yaml": ".pre-commit-config.yaml",
    "test.yml": ".github/workflows/test.yml",
}
"""Files of the template, and their paths in the project."""
DATABRICKS = {"databricks.yml": "databricks.yml", "start_here.txt": "start_here.py"}
"""Further files for a project on Databricks, which `skills.py generate` writes from the folder `databricks`."""
FILLED = ("project.toml", "databricks.yml")
"""Files in which `{name}`, `{wheel}`, `{pyspark}` and `{connector}` are replaced."""
NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?", re.IGNORECASE)
TAKEN = ("pyspark", DISTRIBUTION)
"""Names of the project's requirements, which the project itself cannot have."""
WHEEL = "Wheel-Version: 1.0\nGenerator: rtm init\nRoot-Is-Purelib: true\nTag: py3-none-any\n"

DESCRIPTION = """Write a project with a real-time job, its tests, and the settings of the linter, CI, pre-commit and
coding assistants. The command needs no network and overwrites nothing.

exit status:
  0  the project was written
  2  nothing was written, or a usage error"""
REPORT = """\
created {folder}: job.py reads orders from Kafka and marks large ones, test_job.py tests it, try_job.py runs it here

next (the first command installs Spark, which takes minutes):
  cd {folder}
{install}  {run}rtm doctor               # check Java and the versions
  {run}pytest                   # run the tests
  {run}rtm prove job.py:marked  # find records that break the query
  {run}python try_job.py        # run the job with test records, until Ctrl-C"""
ON_DATABRICKS = """

on Databricks (databricks.yml lists the variables to set):
  databricks bundle deploy && databricks bundle run first_hour  # runs the notebook start_here.py on one worker
  databricks bundle deploy -t prod                              # runs job.py"""
WITH_PIP = """\
  python3 -m venv .venv && .venv/bin/pip install "$(ls vendor/*.whl)[java,prove,testing]"
"""


@dataclass(frozen=True)
class Options:
    """Options of the `init` command."""

    name: Annotated[Path, Argument(is_positional=True)]
    """New folder for the project. The last part of the path is the project's name."""
    databricks: bool = False
    """Add a Databricks bundle, which runs the job, and a notebook for the first hour on Databricks."""


@dataclass(frozen=True)
class Wheel:
    """A wheel of this package: its file name, its metadata and its files."""

    name: str
    metadata: str
    files: dict[str, bytes]

    def write(self, path: Path) -> None:
        """Write the wheel."""
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in self.files.items():
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def run(options: Options) -> int:
    """Write the project, print the next commands, and return the exit status."""
    folder = options.name
    _check(folder)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM, too, must delete the unfinished folder
    wheel = packed()
    with _unfinished(folder) as unfinished:
        vendor = unfinished / "vendor"
        vendor.mkdir()
        wheel.write(vendor / wheel.name)
        values = {"name": folder.name, "wheel": wheel.name, "connector": _connector()}
        values["pyspark"] = _found(r"pyspark==([\d.]+)", wheel.metadata)
        for name, target in (FILES | (DATABRICKS if options.databricks else {})).items():
            text = TEMPLATE.joinpath(name).read_text(encoding="utf-8")
            if name in FILLED:
                text = re.sub(r"\{(name|wheel|pyspark|connector)\}", lambda match: values[match[1]], text)
            if options.databricks:  # the linter then applies the rules of both engines
                text = re.sub(r'(?m)^engine = "oss-4.3".*\n', "", text)
            path = unfinished / target
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    print(_report(folder) + (ON_DATABRICKS if options.databricks else ""))
    return 0


def packed() -> Wheel:
    """Return a wheel with the running package. Raise `UsageError` if the package's requirements are unknown."""
    info = _info_of_checkout(PACKAGE.parent) or _info_of_installation()
    metadata = info["METADATA"].decode()
    stem = f"{DISTRIBUTION.replace('-', '_')}-{_found(r'(?m)^Version: (.+)$', metadata)}"
    parts = (path.relative_to(PACKAGE.parent) for path in sorted(PACKAGE.rglob("*")) if path.is_file())
    names = [part for part in parts if part.suffix != ".pyc" and not any(one.startswith(".") for one in part.parts)]
    files = {name.as_posix(): PACKAGE.parent.joinpath(name).read_bytes() for name in names}
    files |= {f"{stem}.dist-info/{name}": content for name, content in info.items()}
    lines = [f"{name},sha256={_hash(content)},{len(content)}\n" for name, content in files.items()]
    record = f"{stem}.dist-info/RECORD"
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    return Wheel(f"{stem}-py3-none-any.whl", metadata, files)


def _info_of_checkout(root: Path) -> dict[str, bytes]:
    """Return the wheel's metadata files, written from a checkout's `pyproject.toml`, or nothing outside a checkout."""
    import tomllib  # noqa: PLC0415 - other commands need not wait for it

    path = root / "pyproject.toml"
    content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    project = content.get("project", {})
    if project.get("name") != DISTRIBUTION:
        return {}
    lines = ["Metadata-Version: 2.4", f"Name: {DISTRIBUTION}", f"Version: {project['version']}"]
    lines += [f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"License-Expression: {project['license']}", "License-File: LICENSE"]
    lines += [f"Requires-Dist: {requirement}" for requirement in project["dependencies"]]
    for extra, requirements in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        for requirement in requirements:
            name, _, marker = requirement.partition(";")
            condition = f"({marker.strip()}) and extra == '{extra}'" if marker else f"extra == '{extra}'"
            lines.append(f"Requires-Dist: {name.strip()}; {condition}")
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    entries = (f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in groups.items())
    texts = {"METADATA": "\n".join([*lines, ""]), "WHEEL": WHEEL, "entry_points.txt": "\n".join(entries)}
    licence = {"licenses/LICENSE": root.joinpath("LICENSE").read_bytes()}
    return {**{name: text.encode() for name, text in texts.items()}, **licence}


def _info_of_installation() -> dict[str, bytes]:
    """Return the metadata files of the installed wheel, without those that describe the installation itself."""
    from spark_rtm.origin import installed  # noqa: PLC0415 - slow to import

    found = installed()
    if found is None:
        raise UsageError(
            f"{PACKAGE} is neither a clone nor an installed wheel, so its requirements are unknown and the project "
            "would have nothing to install; run `rtm init` of a clone (`bin/rtm init NAME`) or of an installed wheel"
        )
    ours = re.compile(r"[^/]+\.dist-info/(METADATA|WHEEL|entry_points\.txt|licenses/.+)")
    matches = {file: ours.fullmatch(file.as_posix()) for file in found.files or []}
    return {match[1]: file.read_binary() for file, match in matches.items() if match}


def _check(folder: Path) -> None:
    if not NAME.fullmatch(folder.name) or folder.name.lower() in TAKEN:
        if folder.name in {"", ".."}:
            raise UsageError(f"{folder} is not a new folder, so nothing was written; pass the name of a new folder")
        raise UsageError(
            f"{folder.name!r} cannot be the name of a project; use at most 64 letters, digits, '-', '_' or '.', with a "
            f"letter or digit at both ends, but not {' or '.join(TAKEN)}"
        )
    if not folder.parent.exists():
        raise UsageError(f"the folder {folder.parent} does not exist, so nothing was written; create it first")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder} exists and is not a folder, so nothing was written; choose a new name")
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty, so nothing was written; choose a new name")


@contextmanager
def _unfinished(folder: Path) -> Iterator[Path]:
    """Yield a new folder next to `folder`, and rename it to `folder` at the end, or delete it after an error."""
    unfinished = folder.with_name(f"{folder.name}.unfinished-{os.getpid()}")
    try:
        unfinished.mkdir()
        yield unfinished
        unfinished.rename(folder)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error}; nothing was written") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _report(folder: Path) -> str:
    install, run = ("", "uv run ") if shutil.which("uv") else (WITH_PIP, ".venv/bin/")
    return REPORT.format(folder=folder, install=install, run=run)


def _connector() -> str:
    """Return the coordinates of the connector. The module `services.packages` needs packages that may be missing."""
    parts = ElementTree.parse(PACKAGE / "services/ivy/connector.xml").iter("dependency")
    (found,) = (part.attrib for part in parts if part.attrib["name"] == CONNECTOR)
    return ":".join(found[key] for key in ("org", "name", "rev"))


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if not match:
        raise UsageError(f"the metadata of the running package lack {pattern}; install the package again")
    return match[1]


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode()


COMMANDS = [
    Command(
        "init",
        "write a project with a real-time job, its tests and the settings of its tools",
        Options,
        run,
        {"init my-job": "write the folder my-job", "init my-job --databricks": "with a bundle for Databricks"},
        DESCRIPTION,
    )
]
