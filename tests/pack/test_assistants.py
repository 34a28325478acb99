import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import skills_ref
from PIL import Image

from scripts.pack import files, manifest
from scripts.pack.assistants import ASSISTANTS, PLUGIN, folders, installed
from scripts.pack.checks.links import check_links
from scripts.pack.install import stale
from scripts.pack.shipped import MACHINERY, TEMPLATE
from scripts.skills import main

NAME = "spark-real-time-mode"

# The fields that Claude Code and Copilot CLI both document, with the stricter limit of the two (read 2026-11-24):
# claude-code-plugin-manifest.json and claude-code-marketplace.json in https://github.com/SchemaStore/schemastore
# (both of 2026-04-23; our manifests conform to them), https://code.claude.com/docs/en/plugins/marketplace-reference,
# https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-plugin-reference
# Unknown fields are errors here, because Claude Code ignores them without a message.
PLUGIN_FIELDS = {"name", "version", "description", "author", "homepage", "repository", "license", "keywords"}
FIELDS = {
    ".claude-plugin/plugin": PLUGIN_FIELDS | {"skills"},
    ".claude-plugin/marketplace": {"name", "description", "owner", "plugins"},
    # schemas/plugin.schema.json of https://github.com/cursor/plugins at 195d9359 (2026-08-07) and
    # https://cursor.com/docs/reference/plugins: without `skills`, the SKILL.md of the root is the only skill.
    ".cursor-plugin/plugin": PLUGIN_FIELDS | {"logo", "hooks"},
}
MAX_DESCRIPTION = 1024


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((files.ROOT / f"{name}.json").read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize("name", FIELDS)
def test_plugin_manifest_has_only_documented_fields(name: str) -> None:
    content = _read(name)
    entries = content.get("plugins", [])

    assert set() == set(content) - FIELDS[name]
    assert {"name"} == set(content.get("author", {"name": ""})) == set(content.get("owner", {"name": ""}))
    assert [] == [each for each in entries if set(each) - {"name", "source", "description"}]
    assert [] == [each for each in (content, *entries) if len(each.get("description", "")) > MAX_DESCRIPTION]
    assert [] == [path for path in content.get("skills", []) if not path.startswith("./")]


def test_folder_of_the_plugin_is_small_and_complete(copied: Path) -> None:
    """`make plugin` copies what `install` copies and what the manifests of the plugins name."""
    (copied / ".venv").mkdir()
    (copied / ".venv/large").write_bytes(bytes(10_000_000))

    subprocess.run(["make", "plugin"], cwd=copied, capture_output=True, text=True, check=True, timeout=60)

    plugin = copied / "build/plugin"
    found = {path.relative_to(plugin).as_posix(): path.stat().st_size for path in plugin.rglob("*") if path.is_file()}
    added = {name for name in found if name.startswith((".claude-plugin/", ".cursor-plugin/", "bin/", "hooks/"))}
    added |= {"scripts/hook.py", "scripts/site/assets/logo.svg", "spark_rtm/__main__.py", files.MANIFEST}
    assert {*manifest.read(copied).digests, *added} == found.keys()
    assert sum(found.values()) < 3_000_000
    done = subprocess.run([plugin / "bin/rtm", "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("rtm ")


def test_plugin_contains_the_skill_of_the_repository() -> None:
    """The marketplace lists one plugin, and its only skill is the SKILL.md of the root, with its name and version."""
    plugin, marketplace, cursor = (_read(name) for name in FIELDS)
    skill = files.frontmatter(files.ROOT)
    pack = json.loads((files.ROOT / "manifest.json").read_text(encoding="utf-8"))

    [entry] = marketplace["plugins"]
    root = files.ROOT / entry["source"]
    [path] = plugin["skills"]

    assert (files.ROOT / ".claude-plugin/plugin.json").samefile(root / ".claude-plugin/plugin.json")
    assert (files.ROOT / files.SKILL).samefile(root / path / files.SKILL)
    assert skill["name"] == plugin["name"] == entry["name"]
    assert f"{plugin['name']}@{marketplace['name']}" == PLUGIN
    assert (pack["version"], pack["version"]) == (plugin["version"], skill["metadata"]["version"])
    assert plugin == {name: value for name, value in cursor.items() if name not in {"logo", "hooks"}} | {
        "skills": ["./"]
    }
    assert (files.ROOT / cursor["logo"]).is_file()
    assert not (files.ROOT / "skills").exists()
    # The directory of Claude's plugins takes the icon from this place: https://claude.com/docs/plugins/pre-submission-checklist
    with Image.open(files.ROOT / ".claude-plugin/icon.png") as icon:
        assert ("PNG", (512, 512)) == (icon.format, icon.size)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder without assistants, which `install` uses."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_copy_in_each_place_is_valid(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = home / "project"
    project.mkdir()
    named = [option for key in ASSISTANTS for option in ("--assistant", key)]

    statuses = (main(["install", *named]), main(["install", *named, "--project", str(project)]))

    personal = [home / one.personal for one in ASSISTANTS.values()]
    places = list(dict.fromkeys([*personal, *(project / one.project for one in ASSISTANTS.values())]))
    assert (0, 0) == statuses
    assert [f"installed into {place}" for place in places] == capsys.readouterr().out.splitlines()
    assert [] == [error for place in places for error in skills_ref.validate(place / NAME)]
    assert [] == [finding for place in places for finding in stale(files.ROOT, place)]


def test_links_of_a_copy_resolve(home: Path) -> None:
    main(["install", "--to", str(home)])
    copy = home / NAME

    broken = [finding.message for finding in check_links(copy)]
    (copy / "references/state.md").unlink()
    other = copy.rename(home / "other")

    lacking = ("tests/", "benchmarks/", "measured/", "scripts/pack/", "evals/", "README.md", TEMPLATE, *MACHINERY)
    assert [] == [message for message in broken if not any(part in message for part in lacking)]
    assert "resolve only in a checkout" in (other / "SKILL.md").read_text(encoding="utf-8")
    assert any("state.md' does not exist" in finding.message for finding in check_links(other))
    assert skills_ref.validate(other)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        # A project folder that does not exist is probably a typing error.
        ("--project {home}/typo --assistant codex", "is not a folder"),
        ("--to {home}/skills --assistant codex", "omit one of them"),
        ("", "--to"),
    ],
    ids=["missing project", "two places", "no assistant"],
)
def test_unclear_place_is_refused(options: str, problem: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["install", *options.format(home=home).split()])
    assert problem in capsys.readouterr().err
    assert [] == list(home.iterdir())


def test_only_installed_assistants_are_found(tmp_path: Path) -> None:
    """Without `--assistant`, only assistants with a folder in the home folder get a copy; two of them share a copy."""
    for sign in (".claude", ".codex", ".gemini"):
        (tmp_path / sign).mkdir()

    assert [tmp_path / ".claude/skills", tmp_path / ".agents/skills"] == folders(installed(tmp_path), tmp_path)


def test_project_gets_copies_for_its_assistants(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--project` installs for the assistants that the project uses, even if the home folder contains no assistant."""
    project = home / "project"
    (project / ".cursor").mkdir(parents=True)

    statuses = [main(["install", "--project", str(project), *options]) for options in ([], ["--list"])]

    assert [0, 0] == statuses
    assert (project / ".cursor/skills" / NAME / "SKILL.md").is_file()
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("cursor "))
    assert ["cursor", "found", "current"] == line.split()[:3]


def test_uninstall_deletes_the_copies_of_all_assistants(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--assistant", "cursor", "--assistant", "opencode"]
    main(["install", *options])

    assert [0, 0, 1] == [main(["install", *options, action]) for action in ("--check", "--uninstall", "--check")]

    assert 2 == capsys.readouterr().out.count("deleted from")
    assert [] == [path for path in home.rglob("*") if path.is_file()]
