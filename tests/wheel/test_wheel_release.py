"""The files of a release state the version of `pyproject.toml`."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import yaml

from scripts.pack.files import ROOT
from spark_rtm.text import markdown

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_files_state_the_licence_of_the_project() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    skill = yaml.safe_load((ROOT / "SKILL.md").read_text().split("---")[1])

    assert {PROJECT["license"]} == {citation["license"], skill["license"]}


def _promises_without_a_test(policy: str) -> list[str]:
    """Return the promises of `SECURITY.md` that name no test, or a test that its file does not define."""
    (promises,) = markdown.tables(policy)
    unproven = []
    for _, (*promise, tests) in promises.rows:
        named = re.findall(r"\[`(test_\w+)`\]\((tests/[\w/]+\.py)\)", tests)
        is_defined = [f"\ndef {name}(" in (ROOT / path).read_text() for name, path in named]
        if not is_defined or not all(is_defined):
            unproven.append(" ".join(promise))
    return unproven


def test_each_promise_of_the_security_policy_names_its_test() -> None:
    policy = (ROOT / "SECURITY.md").read_text()
    changed = policy.replace("test_links_out_of_the_folder_are_not_followed", "test_gone")
    untested = f"{policy.partition('|---')[0]}|---|---|---|\n| a | b | [t](README.md) |\n"

    assert [0, 1, 1] == [len(_promises_without_a_test(text)) for text in (policy, changed, untested)]


def test_release_check_rejects_uncommitted_file(tmp_path: Path) -> None:
    """The check ends before the tests run, and names the file."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)

    done = subprocess.run(["make", "release-check"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert 2 == done.returncode
    assert "?? Makefile" in done.stderr
    assert "commit or remove them" in done.stderr
