"""Copy the version, the name and the site's address from `pyproject.toml` to other files."""

import re
import tomllib
from pathlib import Path
from typing import Any

PLACES = (
    ("version", "spark_rtm/__init__.py", r'^(__version__ = ")[^"]+'),
    ("version", "SKILL.md", r'^(  version: ")[^"]+'),
    ("version", "CITATION.cff", r"^(version: )\S+"),
    ("version", ".claude-plugin/plugin.json", r'^(  "version": ")[^"]+'),
    ("version", ".cursor-plugin/plugin.json", r'^(  "version": ")[^"]+'),
    ("version", "references/install.md", r"(\bspark_real_time_mode-)[\w.+]+(?=-py3-none-any\.whl)"),
    ("site", "spark_rtm/__init__.py", r'^(DOCUMENTATION = ")[^"]*'),
    ("name", "spark_rtm/origin.py", r'^(NAME = ")[^"]+'),
)
"""A value, a file that states it, and a pattern for the value, whose group is the text before it."""


def project(root: Path) -> dict[str, Any]:
    """Return the `project` table from `pyproject.toml`."""
    content: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return content


def with_version(root: Path, name: str, text: str) -> str:
    """Return a file's text with the project's version, name and site. Raise ValueError if a line is absent."""
    patterns = {pattern: kind for kind, file, pattern in PLACES if file == name}
    if not patterns:
        return text
    known = project(root)
    values = known | {"site": known.get("urls", {}).get("Documentation", "")}
    for pattern, kind in patterns.items():
        text, count = re.subn(pattern, rf"\g<1>{values[kind]}", text, flags=re.MULTILINE)
        if not count:
            raise ValueError(f"{name} has no line that matches {pattern!r}; add a line with {values[kind]}")
    return text
