"""
Render the tables of `THIRD_PARTY.md`, which list the Python packages that `make` installs and the downloaded jars.

The packages in `requirements/release.txt` are not listed, because neither users nor tests install them. A test compares
`licences.json` with the metadata of the installed packages and of the downloaded jars.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.results.format import table

LICENCES = "scripts/pack/licences.json"
IVY_DIRS = ("spark_rtm/services/ivy", "benchmarks/other_engines/ivy")
_PACKAGE = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
_JAR = re.compile(r"(?P<name>.+?)-(?P<version>\d+(?:\.\d+)+(?:-[\d.]+)?(?:\.Final|-jre)?)\.jar")


def packages(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the name and version of each listed package, and the file in `requirements/` that pins the package."""
    for file in sorted({*(root / "requirements").glob("*.txt")} - {root / "requirements" / "release.txt"}):
        for package, version in _PACKAGE.findall(file.read_text(encoding="utf-8")):
            yield package, version, f"requirements/{file.name}"


def jars(root: Path) -> dict[tuple[str, str], list[str]]:
    """Return the stems of the Ivy files that pin each jar, keyed by the jar's name and version."""
    lists: dict[tuple[str, str], list[str]] = {}
    for ivy_file in (file for folder in IVY_DIRS for file in sorted((root / folder).glob("*.xml"))):
        for jar in _with_checksums(ivy_file.with_suffix(".sha256")):
            lists.setdefault(jar, []).append(ivy_file.stem)
    return lists


def packages_table(root: Path, _: str) -> str:
    """Return a table of the Python packages with their licences."""
    rows = ((name, version, "packages", f"`{file}`") for name, version, file in packages(root))
    return _table(root, "package", sorted(rows))


def jars_table(root: Path, _: str) -> str:
    """Return a table of the jars with their licences."""
    rows = ((*jar, "jars", ", ".join(f"`{stem}`" for stem in stems)) for jar, stems in jars(root).items())
    return _table(root, "jar", sorted(rows, key=lambda row: (row[0].lower(), row[1])))


def read_licences(root: Path) -> dict[str, Any]:
    """Return the licences of `packages` and `jars` by name, and the `sources` of licences that the metadata omits."""
    content: dict[str, Any] = json.loads((root / LICENCES).read_text(encoding="utf-8"))
    return content


def _with_checksums(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        match = _JAR.fullmatch(line.split()[1])
        assert match, line
        yield match["name"], match["version"]


def _table(root: Path, title: str, rows: Iterable[tuple[str, str, str, str]]) -> str:
    licences = read_licences(root)
    lines = [(name, version, _licence(licences, kind, name), lists) for name, version, kind, lists in rows]
    return table((title, "version", "licence", "list"), lines)


def _licence(licences: dict[str, Any], kind: str, name: str) -> str:
    if name not in licences[kind]:
        raise ValueError(
            f"{LICENCES} has no licence for {name!r} under {kind!r}; add the licence in the package's metadata"
        )
    source = licences["sources"].get(name)
    return str(licences[kind][name]) + (f" ([source]({source['url']}), read {source['read']})" if source else "")
