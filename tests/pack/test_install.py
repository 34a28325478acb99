"""An installed skill is a faithful copy, is renewed without losing anybody's work, and tells when it is stale."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from scripts.pack import generate, manifest
from scripts.pack.install import incomplete, install, skill_folders, stale

NAME = "spark-real-time-mode"


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    """Return an assistant's skills folder that does not exist yet."""
    return tmp_path / "home/.claude/skills"


def _messages(findings: Iterable[object]) -> str:
    return "\n".join(map(str, findings))


def test_copy_holds_the_files_of_the_manifest_and_nothing_else(copied: Path, skills: Path) -> None:
    """What is listed is copied byte for byte; caches and tests are not."""
    (copied / "examples/__pycache__").mkdir(exist_ok=True)
    (copied / "examples/__pycache__/x.pyc").write_bytes(b"x")

    assert [] == install(copied, skills)

    target = skills / NAME
    files = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert {*manifest.read(copied), "manifest.json"} == files
    assert [] == incomplete(target)
    assert [] == stale(copied, skills)


def test_second_installation_changes_nothing(copied: Path, skills: Path) -> None:
    """Installing is idempotent."""
    install(copied, skills)

    assert [] == install(copied, skills)
    assert [] == stale(copied, skills)


def test_older_copy_is_stale_and_is_renewed(copied: Path, skills: Path) -> None:
    """A new version replaces files, adds new ones and removes those that are gone."""
    install(copied, skills)
    (copied / "references/new.md").write_text("# New\n\n*Read when new.*\n")
    (copied / "examples/services/log4j2.properties").unlink()
    generate.write_all(copied)

    said = _messages(stale(copied, skills))
    install(copied, skills)

    assert "new.md" in said
    assert "is no longer part of the skill" in said
    assert [] == stale(copied, skills)
    assert not (skills / NAME / "examples/services/log4j2.properties").exists()


def test_edited_copy_is_left_alone_as_a_whole(copied: Path, skills: Path) -> None:
    """One edited file stops the installation before anything is written, and the message names it."""
    install(copied, skills)
    edited = skills / NAME / "SKILL.md"
    edited.write_text("mine")
    (copied / "README.md").write_text("# Other\n")
    generate.write_all(copied)

    [finding] = install(copied, skills)

    assert (str(edited), "mine") == (finding.path, edited.read_text())
    assert "--force" in finding.fix
    assert "# Other\n" != (skills / NAME / "README.md").read_text()


def test_edited_copy_is_replaced_when_forced(copied: Path, skills: Path) -> None:
    """Whoever insists gets the skill as it is published."""
    install(copied, skills)
    (skills / NAME / "SKILL.md").write_text("mine")

    assert [] == install(copied, skills, force=True)
    assert [] == stale(copied, skills)


def test_file_of_somebody_else_is_not_overwritten(copied: Path, skills: Path) -> None:
    """A folder of the same name that was not made by us is not taken over."""
    (skills / NAME).mkdir(parents=True)
    (skills / NAME / "SKILL.md").write_text("theirs")

    [finding] = install(copied, skills)

    assert "SKILL.md" in finding.path
    assert "theirs" == (skills / NAME / "SKILL.md").read_text()


def test_missing_copy_is_stale(copied: Path, skills: Path) -> None:
    """Where nothing is installed, the check says so."""
    [finding] = stale(copied, skills)

    assert "holds no copy" in finding.message


def test_spoilt_source_is_noticed(copied: Path) -> None:
    """A file that differs from the manifest is not passed on."""
    (copied / "SKILL.md").write_text("spoilt")
    (copied / "LICENSE").unlink()

    assert ["LICENSE", "SKILL.md"] == [finding.path for finding in incomplete(copied)]


def test_skill_is_not_installed_into_itself(copied: Path) -> None:
    """Copying a folder onto itself would end with nothing."""
    skill = copied.rename(copied.with_name(NAME))

    with pytest.raises(ValueError, match="is the skill itself"):
        install(skill, skill.parent)


def test_present_assistants_are_found(tmp_path: Path) -> None:
    """Only assistants that the person uses get a copy."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".codex").mkdir()

    assert [tmp_path / ".claude/skills", tmp_path / ".agents/skills"] == skill_folders(tmp_path)
