import subprocess
from pathlib import Path

import pytest

from scripts import commits

# Instead of the pack's checks: a commit is whole if its file `state` says so.
VALIDATE = "import pathlib; raise SystemExit(pathlib.Path('state').read_text().replace('whole', '') or 0)"


def git(root: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)


def commit(root: Path, subject: str, state: str = "whole") -> None:
    (root / "state").write_text(state)
    git(root, "add", "--all")
    git(root, "commit", "--allow-empty", "--message", subject)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "scripts").mkdir(parents=True)
    (folder / "scripts/skills.py").write_text(VALIDATE)
    git(folder, "init", "--initial-branch=main")
    commit(folder, "Begin", "broken before the tag")
    git(folder, "tag", "v0.1.0")
    return folder


def test_whole_commits_have_no_problem(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(root, "Add one")
    commit(root, "x" * 72)

    assert 0 == commits.main(root)
    assert "Validating 2 commits\n" == capsys.readouterr().out


def test_broken_commit_is_named_although_the_next_one_repairs_it(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit(root, "Break", "page.md:1: out of date")
    commit(root, "Repair")
    commit(root, "y" * 73)

    assert 1 == commits.main(root)
    _, broken, long = capsys.readouterr().out.splitlines()
    assert broken.endswith("'Break': page.md:1: out of date")
    assert long.endswith("its subject has 73 characters; use at most 72")


def test_only_the_last_commits_since_the_tag_are_checked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "MAX_COMMITS", 2)
    for number in range(3):
        commit(root, f"Add {number}")

    git(root, "tag", "second", commits.commits_since_last_tag(root)[0])
    assert 1 == len(commits.commits_since_last_tag(root))
    git(root, "tag", "--delete", "second", "v0.1.0")
    assert 2 == len(commits.commits_since_last_tag(root))


def test_commits_older_than_the_check_are_not_checked(root: Path) -> None:
    commit(root, "Break", "broken before the check")
    (root / "scripts/commits.py").touch()
    commit(root, "Check commits")
    commit(root, "Add one")

    assert 1 == len(commits.commits_since_last_tag(root))


def test_clone_without_history_checks_its_head(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(root, "Break", "lost in the history")
    commit(root, "Repair")
    git(tmp_path, "clone", "--depth=1", root.as_uri(), "shallow")

    assert 0 == commits.main(tmp_path / "shallow")
    told, count = capsys.readouterr().out.splitlines()
    assert told.startswith("This checkout has no history, so only HEAD is checked")
    assert "Validating 1 commits" == count


def test_folder_without_a_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"{tmp_path} has no commits to check .*run this in a clone"):
        commits.main(tmp_path)
