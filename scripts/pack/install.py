"""
Copy the skill into the skills folders of coding assistants, and detect stale copies, with the standard library only.

A copy is a folder with the skill's name that contains exactly the files listed in the manifest. The manifest of the
copy contains their sizes and SHA-256. Without `force`, edited files in a copy are never overwritten or removed. Other
people may edit the project that contains the copy, so its manifest and files are not trusted: nothing outside the
folder of the copy is read, written or removed.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.pack import files, manifest
from spark_rtm.text.finding import Finding

MAX_BYTES = 10_000_000


def stale(root: Path, skills: Path) -> list[Finding]:
    """Return findings about the differences between an installed copy and the skill in `root`."""
    name, wanted = manifest.read(root).name, _digests(_contents(root))
    target = skills / name
    installed = _installed(target, name)
    if obstacles := _obstacles(target, {*installed, *wanted}):
        return obstacles
    return sorted(_differences(target, installed, wanted))


def install(root: Path, skills: Path, *, force: bool = False) -> list[Finding]:
    """
    Create or update the copy in a skills folder. Return findings about files that prevent the installation.

    Symbolic links in the copy always prevent the installation. Edited files prevent it unless `force` is set. If any
    file prevents the installation, nothing is written. The skills folder itself may be a symbolic link. The manifest is
    written last, so an interrupted installation can be repeated.
    """
    name, contents = manifest.read(root).name, _contents(root)
    target, wanted = skills / name, _digests(contents)
    if (root / files.MANIFEST).resolve() == (target / files.MANIFEST).resolve():
        raise ValueError(f"{target} is the skill itself; choose another folder with --to")
    installed = _installed(target, name)
    if obstacles := _obstacles(target, {*installed, *wanted}):
        return obstacles
    if not force and (edited := sorted(_edited(target, installed, wanted))):
        return edited
    for gone in installed.keys() - wanted.keys():
        (target / gone).unlink(missing_ok=True)
    for path, data in contents.items():
        _replace(target / path, data)
    _replace(target / files.MANIFEST, manifest.of_copy(root, contents).encode())
    return []


def uninstall(root: Path, skills: Path, *, force: bool = False) -> list[Finding]:
    """
    Delete the copy in a skills folder. Return findings about files that prevent the deletion.

    Symbolic links in the copy always prevent the deletion. Edited files prevent it unless `force` is set. Files that do
    not belong to the skill are kept, together with their folders.
    """
    name = manifest.read(root).name
    target = skills / name
    installed = _installed(target, name)
    if not installed:
        problem = "does not contain a copy of the skill, so nothing was deleted"
        return [Finding(str(target), 1, "install", problem, "choose another --to, --project or --assistant")]
    if obstacles := _obstacles(target, installed):
        return obstacles
    if not force and (edited := sorted(_edited(target, installed, {}))):
        return edited
    for path in (target / one for one in (*installed, files.MANIFEST)):
        path.unlink(missing_ok=True)
    folders = {target / parent for one in installed for parent in Path(one).parents}
    for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        _remove_if_empty(folder)
    return []


def state(root: Path, skills: Path) -> str:
    """Return the state of the copy in a skills folder: `not installed`, `current`, or `outdated or edited`."""
    if not (skills / manifest.read(root).name / files.MANIFEST).is_file():
        return "not installed"
    return "outdated or edited" if stale(root, skills) else "current"


def incomplete(root: Path) -> list[Finding]:
    """Return findings about files of the manifest that are missing in `root`, or differ from the digest in it."""
    remedy = "run `python scripts/skills.py generate` in the repository, or fetch the skill again"
    findings = []
    for name, expected in manifest.read(root).digests.items():
        if not (root / name).is_file():
            findings.append(Finding(name, 1, "install", "is listed in the manifest but missing", remedy))
        elif expected not in {manifest.UNKNOWN, _digest(root / name)}:
            findings.append(Finding(name, 1, "install", "differs from the manifest", remedy))
    return sorted(findings)


def digest(root: Path) -> str:
    """Return one SHA-256 for all files of the skill in `root`."""
    return manifest.digest("\n".join(sorted(_digests(_contents(root)).values())).encode())


def _contents(root: Path) -> dict[str, bytes]:
    """Return the content of each of the skill's files in `root`, by path."""
    return {name: manifest.read_limited(root / name, MAX_BYTES) for name in manifest.read(root).digests}


def _digests(contents: dict[str, bytes]) -> dict[str, str]:
    return {name: manifest.digest(data) for name, data in contents.items()}


def _installed(target: Path, name: str) -> dict[str, str]:
    """Return the digests in a copy's manifest, or an empty dictionary if there is no manifest."""
    file = target / files.MANIFEST
    if _obstacle(target, files.MANIFEST) or not file.is_file():
        return {}
    remedy = f"so nothing was read or written; move {target} away, then install again"
    try:
        content = manifest.read(target)
    except ValueError as error:
        raise ValueError(f"{error}, {remedy}") from error
    if content.name != name:
        raise ValueError(f"{file} is the manifest of the skill {content.name!r} instead of {name!r}, {remedy}")
    return content.digests


def _obstacles(target: Path, names: Iterable[str]) -> list[Finding]:
    """Return findings about symbolic links, files in place of folders, and folders in place of files."""
    return sorted({finding for name in (files.MANIFEST, *names) if (finding := _obstacle(target, name))})


def _obstacle(target: Path, name: str) -> Finding | None:
    folders = [target / parent for parent in reversed(Path(name).parents)]
    for path in (*folders, target / name):
        if path.is_symlink():
            problem = "is a symbolic link and could lead out of the skill's folder, so nothing was written"
            return Finding(str(path), 1, "install", problem, "delete the link, then install again")
        expected, is_expected = ("folder", path.is_dir()) if path in folders else ("regular file", path.is_file())
        if path.exists() and not is_expected:
            problem = f"is not a {expected}, so nothing was written"
            return Finding(str(path), 1, "install", problem, "move the path away, then install again")
    return None


def _edited(target: Path, installed: dict[str, str], wanted: dict[str, str]) -> Iterator[Finding]:
    for name in {*installed, *wanted}:
        known = {digests[name] for digests in (installed, wanted) if name in digests}
        if (target / name).is_file() and _digest(target / name) not in known:
            problem = "has local edits that would be lost, so nothing was changed"
            fix = "save the edits elsewhere, then repeat with --force"
            yield Finding(str(target / name), 1, "install", problem, fix)


def _differences(target: Path, installed: dict[str, str], wanted: dict[str, str]) -> Iterator[Finding]:
    remedy = "run `python scripts/skills.py install`"
    if not (target / files.MANIFEST).is_file():
        yield Finding(str(target), 1, "install", "does not contain a copy of the skill", remedy)
        return
    for name, expected in wanted.items():
        file = target / name
        if not file.is_file():
            yield Finding(str(file), 1, "install", "is missing", remedy)
        elif _digest(file) != expected:
            yield Finding(str(file), 1, "install", "differs from this version of the skill", remedy)
    for name in installed.keys() - wanted.keys():
        if (target / name).is_file():
            yield Finding(str(target / name), 1, "install", "is no longer part of the skill", remedy)


def _remove_if_empty(folder: Path) -> None:
    cache = folder / "__pycache__"
    if cache.is_dir() and not cache.is_symlink():
        for file in cache.glob("*.pyc"):
            file.unlink()
        with contextlib.suppress(OSError):
            cache.rmdir()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _replace(file: Path, data: bytes) -> None:
    """Write the data to a temporary file and rename it to `file`, so that `file` is always complete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        # Mode "x" creates the file. It never writes through a link that has this name.
        with unfinished.open("xb") as output:
            output.write(data)
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def _digest(file: Path) -> str:
    """Return a file's SHA-256, or an empty string if the file is larger than `MAX_BYTES`."""
    try:
        return manifest.digest(manifest.read_limited(file, MAX_BYTES))
    except ValueError:
        return ""
