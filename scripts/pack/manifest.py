"""
Render and read `manifest.json`, which lists the path of each file of the skill.

The manifest of an installed copy also contains the size and SHA-256 of each file, as the manifest of 0.1.0 did.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from scripts.pack import files

SCHEMA = "scripts/pack/manifest.schema.json"
MAX_BYTES = 1_000_000
"""The maximum size of a manifest, about 20 times the size of the manifest of a copy."""
UNKNOWN = "unknown"
"""The digest of a file that a manifest lists without one. No file has this digest."""


class Content(NamedTuple):
    """The name of the skill, and the SHA-256 of each file by path, as `install` reads them from a manifest."""

    name: str
    digests: dict[str, str]
    """`UNKNOWN` for a file without a digest, as in the manifest of a checkout."""


def render(root: Path, version: str, paths: Iterable[Path]) -> str:
    """Return the manifest of `paths` as JSON."""
    skill = files.frontmatter(root)
    content = {
        "name": skill.get("name", ""),
        "version": version,
        "description": skill.get("description", ""),
        "spark_versions": [_pinned(root, "pyspark")],
        "files": [files.relative(root, path) for path in paths],
    }
    return _text(content)


def of_copy(root: Path, data: Mapping[str, bytes]) -> str:
    """Return the manifest of a copy of the skill in `root` as JSON. `data` contains each file's content by path."""
    content = json.loads(read_limited(root / files.MANIFEST, MAX_BYTES))
    entries = [{"path": name, "bytes": len(one), "sha256": digest(one)} for name, one in data.items()]
    return _text(content | {"files": entries})


def _text(content: Mapping[str, object]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def read(root: Path) -> Content:
    """Return a manifest's content. Raise ValueError if it is malformed or if a path in it could lead out of `root`."""
    file = root / files.MANIFEST
    try:
        content = json.loads(read_limited(file, MAX_BYTES))
        return Content(_valid("name", content["name"]), dict(_file(one) for one in content["files"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{file} is not the manifest of a skill ({type(error).__name__}: {error})") from error


def read_limited(file: Path, limit: int) -> bytes:
    """Return a file's content. Raise ValueError above `limit` bytes, so that a sparse file cannot fill the memory."""
    with file.open("rb") as opened:
        data = opened.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"{file} has more than {limit:,} bytes")
    return data


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def _file(entry: Any) -> tuple[str, str]:
    if isinstance(entry, str):
        return _valid("path", entry), UNKNOWN
    return _valid("path", entry["path"]), _valid("sha256", entry["sha256"])


def _valid(kind: str, text: str) -> str:
    pattern = _patterns()[kind]
    if not pattern.fullmatch(text):
        raise ValueError(f"{kind} {text[:200]!r} does not match {pattern.pattern}")
    return text


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the patterns in the manifest's schema, because a package that validates schemas may not be installed."""
    schema = json.loads((files.ROOT / SCHEMA).read_text(encoding="utf-8"))
    kinds = {"name": schema["properties"]["name"], **schema["$defs"]}
    return {kind: re.compile(kinds[kind]["pattern"]) for kind in ("name", "path", "sha256")}


def _pinned(root: Path, name: str) -> str:
    match = re.search(rf"^{name}==(\S+)$", (root / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise ValueError(
            f"constraints.txt does not pin {name}, so the verified version is unknown; add a pinned version"
        )
    return match[1]
