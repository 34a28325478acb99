"""Copy the version and the addresses in `pyproject.toml` to other files."""

import re
import tomllib
from pathlib import Path
from typing import Any

# The first group is the text before the version.
PLACES = {
    "spark_rtm/__init__.py": r'^(__version__ = ")[^"]+',
    "SKILL.md": r'^(  version: ")[^"]+',
    "CITATION.cff": r"^(version: )\S+",
    ".claude-plugin/plugin.json": r'^(  "version": ")[^"]+',
    ".cursor-plugin/plugin.json": r'^(  "version": ")[^"]+',
    "references/install.md": r"(\bspark_real_time_mode-)[\w.+]+(?=-py3-none-any\.whl)",
}
ADDRESSES = {
    "README.md": r"^(git clone )\S+",
    "CITATION.cff": r"^(repository-code: )\S+",
    ".claude-plugin/plugin.json": r'^(  "repository": ")[^"]+',
    ".cursor-plugin/plugin.json": r'^(  "repository": ")[^"]+',
    "references/install.md": r"(  - repo: )\S+",
}
SITES = {"spark_rtm/__init__.py": r'^(DOCUMENTATION = ")[^"]+'}
OWNERS = {"references/install.md": r"(      - uses: )(?!actions/)[^@\s]+"}
"""Places that contain the owner and the name of the repository, which are the end of the repository's address."""


def project(root: Path) -> dict[str, Any]:
    """Return the table `project` of `pyproject.toml`."""
    content: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return content


def with_version(root: Path, name: str, text: str) -> str:
    """Return a file's text with the project's version and addresses. Raise ValueError if a place for one is missing."""
    if not any(name in places for places in (PLACES, ADDRESSES, SITES, OWNERS)):
        return text
    known = project(root)
    address, site = known["urls"]["Repository"], known["urls"]["Documentation"]
    owner = "/".join(address.split("/")[-2:])
    for places, value in ((PLACES, known["version"]), (ADDRESSES, address), (SITES, site), (OWNERS, owner)):
        if name in places:
            text, count = re.subn(places[name], rf"\g<1>{value}", text, flags=re.MULTILINE)
            if not count:
                raise ValueError(f"{name} has no line that matches {places[name]!r}; add such a line with {value}")
    return text
