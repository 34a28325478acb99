"""`install` touches nothing outside the folder of the copy."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts.pack import files, manifest
from scripts.pack.install import install, stale, uninstall

NAME = "small-skill"
SKILL_FILES = {"SKILL.md": "skill", "scripts/run.py": "run", "references/page.md": "page"}
SECRET = "secret"
FORCE = pytest.mark.parametrize("force", [False, True], ids=["plain", "forced"])


def write_skill(root: Path, texts: Mapping[str, str]) -> Path:
    """Write a copy of a skill, as 0.1.0 installed it."""
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / files.MANIFEST).write_text(manifest_of({name: manifest.digest(t.encode()) for name, t in texts.items()}))
    return root


def write_source(root: Path, texts: Mapping[str, str]) -> Path:
    """Write a skill as in a checkout, whose manifest contains no digests."""
    write_skill(root, texts)
    (root / files.MANIFEST).write_text(json.dumps({"name": NAME, "files": list(texts)}))
    return root


def manifest_of(digests: Mapping[str, object], name: str = NAME) -> str:
    """Return the text of a manifest that lists `digests` without checking them."""
    return json.dumps({"name": name, "files": [{"path": path, "sha256": sha} for path, sha in digests.items()]})


def contents(folder: Path) -> dict[str, str]:
    paths = [path for path in folder.rglob("*") if path.is_symlink() or path.is_file()]
    return {str(path): str(path.readlink()) if path.is_symlink() else path.read_text() for path in paths}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_source(tmp_path / "source", SKILL_FILES)


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    (tmp_path / "victim").write_text(SECRET)
    folder = tmp_path / "project/skills"
    (folder / NAME).mkdir(parents=True)
    return folder


@pytest.fixture
def copy(skills: Path) -> Path:
    return skills / NAME


OUTSIDE = (
    "../../../victim",
    "{tmp_path}/victim",
    "x\n/../../../../victim",
    "references/..",
    "C:\\victim",
    "..\\victim",
)
MALFORMED = ("", "./SKILL.md", "references//page.md", ".git/config", "/".join("x" * 11), "x" * 101)


@FORCE
@pytest.mark.parametrize("path", [*OUTSIDE, *MALFORMED])
def test_path_outside_the_copy_is_refused(tmp_path: Path, source: Path, copy: Path, path: str, force: bool) -> None:
    listed = path.format(tmp_path=tmp_path)
    (copy / files.MANIFEST).write_text(manifest_of({listed: manifest.digest(SECRET.encode())}))
    before = contents(tmp_path)

    with pytest.raises(ValueError, match="nothing was read or written; move"):
        install(source, copy.parent, force=force)
    with pytest.raises(ValueError, match="nothing was read or written; move"):
        stale(source, copy.parent)

    assert before == contents(tmp_path)


@FORCE
@pytest.mark.parametrize("destination", ["victim", "new-file", "folder"])
@pytest.mark.parametrize("link", ["", "manifest.json", "scripts", "scripts/run.py", "gone/x.md"])
def test_symbolic_link_in_the_copy_is_refused(
    tmp_path: Path, source: Path, copy: Path, link: str, destination: str, force: bool
) -> None:
    write_skill(copy, {**SKILL_FILES, "gone/x.md": ""})
    moved = (copy / link).rename(tmp_path / "moved")
    (tmp_path / "folder").mkdir()
    (copy / link).symlink_to(tmp_path / destination)
    before = contents(tmp_path)

    findings = install(source, copy.parent, force=force)

    assert moved.exists()
    assert before == contents(tmp_path)
    assert findings == stale(source, copy.parent)
    assert {str(copy / link)} == {finding.path for finding in findings if "is a symbolic link" in finding.message}


def test_link_with_the_temporary_name_is_not_followed(tmp_path: Path, source: Path, copy: Path) -> None:
    (copy / ".SKILL.md.unfinished").symlink_to(tmp_path / "victim")

    assert [] == install(source, copy.parent)
    assert SECRET == (tmp_path / "victim").read_text()
    assert [] == stale(source, copy.parent)


def test_forced_update_does_not_write_through_a_hard_link(tmp_path: Path, source: Path, copy: Path) -> None:
    (copy / "SKILL.md").hardlink_to(tmp_path / "victim")

    assert [] == install(source, copy.parent, force=True)
    assert (SECRET, "skill") == ((tmp_path / "victim").read_text(), (copy / "SKILL.md").read_text())


def test_interrupted_update_leaves_no_temporary_file_and_can_be_repeated(source: Path, copy: Path) -> None:
    install(source, copy.parent)
    new = write_source(source, {**SKILL_FILES, "SKILL.md": "new", "scripts/run.py": "x" * 100_000})
    code = "import sys; from pathlib import Path; from scripts.pack.install import install"
    # The limit of 40 blocks makes the system refuse the second half of the large file.
    command = ["bash", "-c", 'ulimit -f 40; exec "$@"', "bash", sys.executable, "-c"]
    command += [f"{code}; install(*map(Path, sys.argv[1:]))", str(new), str(copy.parent)]
    failed = subprocess.run(command, cwd=files.ROOT, capture_output=True, text=True, timeout=30, check=False)

    assert "File too large" in failed.stderr
    assert ("new", "run") == ((copy / "SKILL.md").read_text(), (copy / "scripts/run.py").read_text())
    assert [] == list(copy.rglob(".*"))
    assert [] == install(new, copy.parent)
    assert [] == stale(new, copy.parent)


@FORCE
def test_copy_without_digests_is_replaced_only_with_force(source: Path, copy: Path, force: bool) -> None:
    """A checkout in the place of a copy has a manifest without digests, so each other file counts as edited."""
    write_source(copy, {**SKILL_FILES, "SKILL.md": "older"})

    findings = install(source, copy.parent, force=force)

    assert ([] if force else [str(copy / "SKILL.md")]) == [finding.path for finding in findings]
    assert ("skill" if force else "older") == (copy / "SKILL.md").read_text()


def test_copy_of_the_first_release_is_checked_replaced_and_uninstalled(source: Path, copy: Path) -> None:
    write_skill(copy, {"SKILL.md": "older", "references/gone.md": "gone"})

    wanted = ["differs from this version of the skill", "is missing", "is missing", "is no longer part of the skill"]
    assert wanted == sorted(finding.message for finding in stale(source, copy.parent))
    assert [] == install(source, copy.parent)
    assert [] == stale(source, copy.parent)
    assert not (copy / "references/gone.md").exists()
    write_skill(copy, SKILL_FILES)
    assert [] == uninstall(source, copy.parent)
    assert not copy.exists()
