"""The files of a release state the version of `pyproject.toml`."""

import json
import tomllib

import yaml

from scripts.pack.files import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_files_state_the_version_and_the_licence_of_the_project() -> None:
    """`pyproject.toml` decides; the manifest is generated from it, and the other files are compared with it."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    skill = yaml.safe_load((ROOT / "SKILL.md").read_text().split("---")[1])
    manifest = json.loads((ROOT / "manifest.json").read_text())

    assert {PROJECT["version"]} == {citation["version"], skill["metadata"]["version"], manifest["version"]}
    assert {PROJECT["license"]} == {citation["license"], skill["license"]}
