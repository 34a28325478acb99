"""Write the version of `pyproject.toml` into the other files that state it, so that a release changes one line."""

import re
import tomllib
from pathlib import Path

# The first group is the text before the version.
PLACES = {
    "spark_rtm/__init__.py": r'^(__version__ = ")[^"]+',
    "SKILL.md": r'^(  version: ")[^"]+',
    "CITATION.cff": r"^(version: )\S+",
    ".claude-plugin/plugin.json": r'^(  "version": ")[^"]+',
    "references/install.md": r"(\bspark_real_time_mode-)[\w.+]+(?=-py3-none-any\.whl)",
}


def project_version(root: Path) -> str:
    """Return the version of the project."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def with_version(root: Path, name: str, text: str) -> str:
    """Return the text of a file with the version of the project. Raise ValueError if the file states no version."""
    if name not in PLACES:
        return text
    version = project_version(root)
    changed, count = re.subn(PLACES[name], rf"\g<1>{version}", text, flags=re.MULTILINE)
    if not count:
        raise ValueError(f"{name}: states no version where {PLACES[name]!r} expects it; add the version {version}")
    return changed
