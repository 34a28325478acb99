"""
The coding assistants that `install` supports, and the skills folders of each.

The folders and commands come from the assistants' documentation. The commands for Copilot CLI 1.0.102 and Gemini CLI
0.61.0 were run on 2026-11-24 with a clone of this repository as ADDRESS, and those for Claude Code 2.1.197 on
2026-11-29 with `build/plugin`. The folder for Cursor comes from `create-plugin` in github.com/cursor/plugins at
195d9359, and was not tried.

Codex has no command here. Codex 0.169.0 installs the same plugin, but does not load a skill at the root of a plugin:
`codex-rs/core-plugins/src/manifest.rs` of github.com/openai/codex at 01b4840b rejects the path `./`.

A Gemini extension would need a folder `skills/` (`docs/extensions/reference.md` of github.com/google-gemini/gemini-cli
at 00edada4). This repository has no such folder, because Cursor would then not look for the skill at the root
(https://cursor.com/docs/reference/plugins, as of 2026-08).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PLUGIN = "spark-real-time-mode@spark-real-time-mode"


@dataclass(frozen=True)
class Assistant:
    """A coding assistant, its skills folders, and the commands with which it installs this skill."""

    name: str
    sign: str
    """A folder, relative to the home folder, that exists if the assistant is installed."""
    personal: str
    """The folder of personal skills, relative to the home folder."""
    project: str
    """The folder of a project's skills, relative to the root of the project."""
    project_sign: str
    """A file or folder that exists in projects that use this assistant."""
    source: str
    """The page that documents the skills folders, and the date on which it was read."""
    commands: tuple[str, ...] = ()


ASSISTANTS = {
    "claude-code": Assistant(
        name="Claude Code",
        sign=".claude",
        personal=".claude/skills",
        project=".claude/skills",
        project_sign=".claude",
        source="https://code.claude.com/docs/en/skills read 2026-11-21",
        commands=("claude plugin marketplace add ADDRESS", f"claude plugin install {PLUGIN}"),
    ),
    "codex": Assistant(
        name="Codex",
        sign=".codex",
        personal=".agents/skills",
        project=".agents/skills",
        project_sign=".agents",
        source="https://developers.openai.com/codex/skills read 2026-11-21",
    ),
    "cursor": Assistant(
        name="Cursor",
        sign=".cursor",
        personal=".cursor/skills",
        project=".cursor/skills",
        project_sign=".cursor",
        source="https://cursor.com/docs/skills read 2026-11-24",
        commands=(f"cp -R build/plugin ~/.cursor/plugins/local/{PLUGIN.partition('@')[0]}",),
    ),
    "copilot": Assistant(
        name="GitHub Copilot",
        sign=".copilot",
        personal=".copilot/skills",
        project=".github/skills",
        project_sign=".github/copilot-instructions.md",
        source="https://docs.github.com/en/copilot/concepts/agents/about-agent-skills read 2026-11-24",
        commands=("copilot plugin marketplace add ADDRESS", f"copilot plugin install {PLUGIN}"),
    ),
    "gemini-cli": Assistant(
        name="Gemini CLI",
        sign=".gemini",
        # It also loads .gemini/skills, but warns about a conflict if both folders contain the skill.
        personal=".agents/skills",
        project=".agents/skills",
        project_sign=".gemini",
        source="https://geminicli.com/docs/cli/using-agent-skills read 2026-11-24",
        commands=("gemini skills install ADDRESS",),
    ),
    "opencode": Assistant(
        name="OpenCode",
        sign=".config/opencode",
        personal=".config/opencode/skills",
        project=".opencode/skills",
        project_sign=".opencode",
        source="https://opencode.ai/v1/docs/skills/ read 2026-11-26",
    ),
    "antigravity": Assistant(
        name="Antigravity",
        sign=".gemini/config",
        # Older releases load ~/.gemini/antigravity/skills; the cited page lists the folders that each release loads.
        personal=".gemini/config/skills",
        project=".agents/skills",
        project_sign=".agents",
        source="https://atamel.dev/posts/2026/07-01_where_agy_agent_skills/ read 2026-11-26",
    ),
}
GENIE_COMMANDS = (
    "python scripts/skills.py install --to genie",
    "databricks workspace import-dir genie /Users/NAME/.assistant/skills",
)
GENIE_CODE = (
    "Genie Code, in Databricks",
    "<br>".join(f"`{command}`" for command in GENIE_COMMANDS),
    "`/Users/NAME/.assistant/skills`, for everyone `/Workspace/.assistant/skills`",
    "[docs](https://docs.databricks.com/gcp/en/genie-code/skills) read 2026-11-26; not run",
)
"""The table row of Genie Code, whose skills are in a Databricks workspace, where `install` cannot write."""


def installed(home: Path) -> list[str]:
    """Return the keys of the assistants that have a folder in this home folder."""
    return [key for key, assistant in ASSISTANTS.items() if (home / assistant.sign).is_dir()]


def in_project(project: Path) -> list[str]:
    """Return the keys of the assistants that this project uses."""
    return [key for key, assistant in ASSISTANTS.items() if (project / assistant.project_sign).exists()]


def folders(keys: Iterable[str], home: Path, project: Path | None = None) -> list[Path]:
    """Return the assistants' skills folders without duplicates, either in `project` or, by default, in `home`."""
    chosen = [ASSISTANTS[key] for key in keys]
    return list(dict.fromkeys(project / one.project if project else home / one.personal for one in chosen))


def rows() -> list[Sequence[str]]:
    """Return a table row for each assistant, with its commands, its skills folders and a link to the documentation."""
    local: list[Sequence[str]] = [
        (
            f"{one.name} (`{key}`)",
            "<br>".join(f"`{command}`" for command in one.commands) or "-",
            f"`~/{one.personal}`, `{one.project}`",
            "[docs]({}) read {}".format(*one.source.split(" read ")),
        )
        for key, one in ASSISTANTS.items()
    ]
    return [*local, GENIE_CODE]
