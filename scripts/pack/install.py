"""
Copy the skill into the folders where coding assistants look, and tell whether a copy is stale.

A checkout or a copy with its manifest arrives; a folder named like the skill, with just the manifest's files, leaves.
A file that somebody has edited is never overwritten or removed unless forced.

Standard library only, because copies are made on machines where nothing is installed.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from scripts.pack import files, manifest
from scripts.text.finding import Finding

# The folder that shows that an assistant is there, and the folder where it looks for a person's skills (2026-11-21):
# https://code.claude.com/docs/en/skills, https://developers.openai.com/codex/skills, https://cursor.com/docs/skills,
# https://code.visualstudio.com/docs/copilot/customization/agent-skills
ASSISTANTS = {
    "Claude Code": (".claude", ".claude/skills"),
    "Codex": (".codex", ".agents/skills"),
    "Cursor": (".cursor", ".cursor/skills"),
    "Copilot": (".copilot", ".copilot/skills"),
}


def skill_folders(home: Path) -> list[Path]:
    """Return the skills folders of the assistants that are present in a home folder."""
    return [home / folder for sign, folder in ASSISTANTS.values() if (home / sign).is_dir()]


def stale(root: Path, skills: Path) -> list[Finding]:
    """Return what makes the copy in a skills folder differ from the skill in `root`."""
    return sorted(_differences(root, skills / _name(root)))


def install(root: Path, skills: Path, *, force: bool = False) -> list[Finding]:
    """
    Bring the copy in a skills folder up to date; return the edited files that stand in the way.

    If there is any, nothing at all is written.
    """
    target = skills / _name(root)
    if (root / files.MANIFEST).resolve() == (target / files.MANIFEST).resolve():
        raise ValueError(f"{target} is the skill itself; choose another folder with --to")
    before = manifest.read(target) if (target / files.MANIFEST).is_file() else {}
    wanted = manifest.read(root)
    if not force and (obstacles := sorted(_edited(target, before, wanted))):
        return obstacles
    for name in wanted:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, target / name)
    for name in set(before) - set(wanted):
        (target / name).unlink(missing_ok=True)
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(root / files.MANIFEST, target / files.MANIFEST)
    return []


def incomplete(root: Path) -> list[Finding]:
    """Return the files that the manifest in `root` describes wrongly, so that no bad copy is made."""
    remedy = "run `python scripts/skills.py generate` in the repository, or fetch the skill again"
    found = []
    for name, (_, expected) in manifest.read(root).items():
        if not (root / name).is_file():
            found.append(Finding(name, 1, "install", "is in the manifest and not here", remedy))
        elif manifest.digest((root / name).read_bytes()) != expected:
            found.append(Finding(name, 1, "install", "differs from the manifest", remedy))
    return sorted(found)


def _edited(target: Path, before: dict[str, tuple[int, str]], wanted: dict[str, tuple[int, str]]) -> Iterator[Finding]:
    for name in sorted(set(before) | set(wanted)):
        file = target / name
        if file.is_file():
            known = {entries[name][1] for entries in (before, wanted) if name in entries}
            if manifest.digest(file.read_bytes()) not in known:
                what = "has been edited since it was installed, so it is left alone"
                yield Finding(str(file), 1, "install", what, "keep your changes elsewhere and repeat with --force")


def _differences(root: Path, target: Path) -> Iterator[Finding]:
    remedy = "run `python scripts/skills.py install`"
    if not (target / files.MANIFEST).is_file():
        yield Finding(str(target), 1, "install", "holds no copy of the skill", remedy)
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
