"""
Render and read `manifest.json`, which lists each file of the skill with its size and SHA-256.

`install` uses the manifest to check and update installed copies.
The manifest depends only on the contents of the files, so its text is the same on every machine.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from scripts.pack import files
from scripts.text.frontmatter import read_frontmatter

SCHEMA = "scripts/pack/manifest.schema.json"
# `skills.py install` copies these files and folders, and the manifest. It does not copy the tests.
SHIPPED_PATHS = (
    files.SKILL,
    "README.md",
    "LICENSE",
    "Makefile",
    "pyproject.toml",
    "constraints.txt",
    "references",
    "examples",
    "scripts",
)
SITE_DIR = "scripts/site"
"""This folder is not shipped, because only the site needs it."""


def render(root: Path, rendered: Mapping[Path, str] | None = None) -> str:
    """Return the text of the manifest; `rendered` holds the new texts of files that have not been written yet."""
    skill = read_frontmatter((root / files.SKILL).read_text(encoding="utf-8"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    content = {
        "name": skill.get("name", ""),
        "version": project["version"],
        "description": skill.get("description", ""),
        "spark_versions": [_pinned(root, "pyspark")],
        "files": [_entry(root, path, rendered or {}) for path in shipped_files(root)],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def shipped_files(root: Path) -> list[Path]:
    """Return every file of an installed skill except the manifest."""
    sources = [root / name for name in SHIPPED_PATHS]
    paths = [path for source in sources for path in ([source] if source.is_file() else files.files_below(source))]
    return [path for path in paths if not path.is_relative_to(root / SITE_DIR)]


def read(root: Path) -> dict[str, tuple[int, str]]:
    """Return the size in bytes and the SHA-256 of each file in the manifest of `root`, by path."""
    entries = json.loads((root / files.MANIFEST).read_text(encoding="utf-8"))["files"]
    return {entry["path"]: (entry["bytes"], entry["sha256"]) for entry in entries}


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def _entry(root: Path, path: Path, rendered: Mapping[Path, str]) -> dict[str, str | int]:
    data = rendered[path].encode() if path in rendered else path.read_bytes()
    return {"path": files.relative(root, path), "bytes": len(data), "sha256": digest(data)}


def _pinned(root: Path, name: str) -> str:
    match = re.search(rf"^{name}==(\S+)$", (root / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise ValueError(
            f"constraints.txt does not pin {name}, so the verified version is unknown; add a pinned version"
        )
    return match[1]
