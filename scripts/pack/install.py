"""
Copy the skill into the skills folders of coding assistants, and detect stale copies.

A copy is a folder with the skill's name that contains exactly the files listed in the manifest.
Without `force`, edited files in a copy are never overwritten or removed.

This module uses only the standard library, because the target machine may have no other packages.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from scripts.pack import files, manifest
from scripts.text.finding import Finding

# For each assistant: a folder that exists if the assistant is installed, and the folder for personal skills
# (read 2026-11-21):
# https://code.claude.com/docs/en/skills, https://developers.openai.com/codex/skills, https://cursor.com/docs/skills,
# https://code.visualstudio.com/docs/copilot/customization/agent-skills
ASSISTANTS = {
    "Claude Code": (".claude", ".claude/skills"),
    "Codex": (".codex", ".agents/skills"),
    "Cursor": (".cursor", ".cursor/skills"),
    "Copilot": (".copilot", ".copilot/skills"),
}


def skill_folders(home: Path) -> list[Path]:
    """Return the skills folders of the assistants that are installed in a home folder."""
    return [home / folder for sign, folder in ASSISTANTS.values() if (home / sign).is_dir()]


def stale(root: Path, skills: Path) -> list[Finding]:
    """Return the differences between the copy in a skills folder and the skill in `root`."""
    return sorted(_differences(root, skills / _name(root)))


def install(root: Path, skills: Path, *, force: bool = False) -> list[Finding]:
    """
    Create or update the copy in a skills folder, or return the edited files that prevent the installation.

    If any file prevents the installation, nothing is written.
    """
    target = skills / _name(root)
    if (root / files.MANIFEST).resolve() == (target / files.MANIFEST).resolve():
        raise ValueError(f"{target} is the skill itself; choose another folder with --to")
    installed = manifest.read(target) if (target / files.MANIFEST).is_file() else {}
    wanted = manifest.read(root)
    if not force and (obstacles := sorted(_edited(target, installed, wanted))):
        return obstacles
    for name in wanted:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, target / name)
    for name in set(installed) - set(wanted):
        (target / name).unlink(missing_ok=True)
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(root / files.MANIFEST, target / files.MANIFEST)
    return []


def incomplete(root: Path) -> list[Finding]:
    """
    Return the files of the manifest that are missing in `root`, and the files that differ from the manifest.

    A skill with such files must not be installed.
    """
    remedy = "run `python scripts/skills.py generate` in the repository, or fetch the skill again"
    findings = []
    for name, (_, expected) in manifest.read(root).items():
        if not (root / name).is_file():
            findings.append(Finding(name, 1, "install", "is listed in the manifest but missing", remedy))
        elif manifest.digest((root / name).read_bytes()) != expected:
            findings.append(Finding(name, 1, "install", "differs from the manifest", remedy))
    return sorted(findings)


def _edited(
    target: Path, installed: dict[str, tuple[int, str]], wanted: dict[str, tuple[int, str]]
) -> Iterator[Finding]:
    for name in sorted(set(installed) | set(wanted)):
        file = target / name
        if file.is_file():
            known_digests = {entries[name][1] for entries in (installed, wanted) if name in entries}
            if manifest.digest(file.read_bytes()) not in known_digests:
                problem = "has local edits that installing would discard, so nothing was written"
                yield Finding(str(file), 1, "install", problem, "save the edits elsewhere, then repeat with --force")


def _differences(root: Path, target: Path) -> Iterator[Finding]:
    remedy = "run `python scripts/skills.py install`"
    if not (target / files.MANIFEST).is_file():
        yield Finding(str(target), 1, "install", "does not contain a copy of the skill", remedy)
        return
    wanted = manifest.read(root)
    for name, (_, expected) in wanted.items():
        file = target / name
        if not file.is_file():
            yield Finding(str(file), 1, "install", "is missing", remedy)
        elif manifest.digest(file.read_bytes()) != expected:
            yield Finding(str(file), 1, "install", "differs from this version of the skill", remedy)
    for name in sorted(set(manifest.read(target)) - set(wanted)):
        if (target / name).is_file():
            yield Finding(str(target / name), 1, "install", "is no longer part of the skill", remedy)


def _name(root: Path) -> str:
    return str(json.loads((root / files.MANIFEST).read_text(encoding="utf-8"))["name"])
