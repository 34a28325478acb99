from pathlib import Path

import pytest

from scripts.pack import files, generate, manifest
from scripts.pack.checks.links import imported_files
from scripts.pack.install import incomplete, install, stale, state, uninstall
from scripts.pack.shipped import shipped_files

NAME = "spark-real-time-mode"


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    return tmp_path / "home/.claude/skills"


def test_copy_contains_exactly_the_files_of_the_manifest(copied: Path, skills: Path) -> None:
    (copied / "examples/__pycache__").mkdir(exist_ok=True)
    (copied / "examples/__pycache__/x.pyc").write_bytes(b"x")

    assert [] == install(copied, skills)

    target = skills / NAME
    found = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert {*manifest.read(copied).digests, "manifest.json"} == found
    assert {name: manifest.digest((target / name).read_bytes()) for name in manifest.read(target).digests} == (
        manifest.read(target).digests
    )
    assert [] == incomplete(target)
    assert [] == stale(copied, skills)


def test_one_edited_file_prevents_the_whole_update(copied: Path, skills: Path) -> None:
    assert "not installed" == state(copied, skills)
    install(copied, skills)
    assert "current" == state(copied, skills)
    edited = skills / NAME / "SKILL.md"
    edited.write_text("mine")
    assert "outdated or edited" == state(copied, skills)
    (copied / "LICENSE").write_text("Other\n")
    generate.write_all(copied)

    [finding] = install(copied, skills)

    assert (str(edited), "mine") == (finding.path, edited.read_text())
    assert "--force" in finding.fix
    assert "Other\n" != (skills / NAME / "LICENSE").read_text()


def test_edited_skill_keeps_its_manifest_and_is_installed(copied: Path, skills: Path) -> None:
    """The manifest of a checkout contains no digests, so a commit that edits a file does not touch it."""
    install(copied, skills)
    listed = (copied / files.MANIFEST).read_bytes()
    (copied / "LICENSE").write_text("Other\n")
    generate.write_all(copied)

    assert listed == (copied / files.MANIFEST).read_bytes()
    assert [] == incomplete(copied)
    assert ["differs from this version of the skill"] == [finding.message for finding in stale(copied, skills)]
    assert [] == install(copied, skills)
    assert "Other\n" == (skills / NAME / "LICENSE").read_text()


def test_damaged_copy_is_not_installed_elsewhere(copied: Path, skills: Path) -> None:
    install(copied, skills)
    copy = skills / NAME
    (copy / "SKILL.md").write_text("damaged")
    (copy / "LICENSE").unlink()

    assert ["LICENSE", "SKILL.md"] == [finding.path for finding in incomplete(copy)]


def test_skill_is_not_installed_into_itself(copied: Path) -> None:
    skill = copied.rename(copied.with_name(NAME))

    with pytest.raises(ValueError, match="is the skill itself"):
        install(skill, skill.parent)


def test_uninstalled_copy_leaves_nothing_but_files_of_others(copied: Path, skills: Path) -> None:
    install(copied, skills)
    cache = skills / NAME / "spark_rtm/__pycache__"
    cache.mkdir()
    (cache / "cli.cpython-311.pyc").write_bytes(b"x")
    (skills / NAME / "references/mine.md").write_text("mine")

    assert [] == uninstall(copied, skills)

    assert ["references", "references/mine.md"] == sorted(
        path.relative_to(skills / NAME).as_posix() for path in (skills / NAME).rglob("*")
    )
    (skills / NAME / "references/mine.md").unlink()


def test_edited_copy_is_not_uninstalled(copied: Path, skills: Path) -> None:
    install(copied, skills)
    (skills / NAME / "SKILL.md").write_text("mine")

    [finding] = uninstall(copied, skills)

    assert (str(skills / NAME / "SKILL.md"), True) == (finding.path, (skills / NAME / "LICENSE").is_file())
    assert [] == uninstall(copied, skills, force=True)
    assert not (skills / NAME).exists()


def test_folder_without_a_copy_is_not_uninstalled(copied: Path, skills: Path) -> None:
    (skills / NAME).mkdir(parents=True)
    (skills / NAME / "SKILL.md").write_text("theirs")

    [finding] = uninstall(copied, skills)

    assert "nothing was deleted" in finding.message
    assert "theirs" == (skills / NAME / "SKILL.md").read_text()


def test_copy_contains_every_module_that_it_imports() -> None:
    """Otherwise a copied example would end with ModuleNotFoundError."""
    shipped = {files.relative(files.ROOT, path) for path in shipped_files(files.ROOT)}

    missing = {
        (name, imported)
        for name in shipped
        if name.endswith(".py") and name != "scripts/skills.py"  # `generate` and `validate` need a checkout
        for imported in imported_files((files.ROOT / name).read_text(), name.rpartition("/")[0]) - shipped
        if (files.ROOT / imported).is_file()
    }

    assert set() == missing
