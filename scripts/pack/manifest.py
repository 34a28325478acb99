"""Render and read `manifest.json`, which lists each file of the skill with its size and SHA-256."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from scripts.pack import files

SCHEMA = "scripts/pack/manifest.schema.json"
MAX_BYTES = 1_000_000
"""The maximum size of a manifest, about 20 times the size of this skill's manifest."""


class Content(NamedTuple):
    """The name of the skill, and the SHA-256 of each file by path, as `install` reads them from a manifest."""

    name: str
    digests: dict[str, str]


def render(root: Path, version: str, paths: Iterable[Path], rendered: Mapping[Path, str]) -> str:
    """Return the manifest of `paths` as JSON. `rendered` contains new file contents that are not written yet."""
    skill = files.frontmatter(root)
    content = {
        "name": skill.get("name", ""),
        "version": version,
        "description": skill.get("description", ""),
        "spark_versions": [_pinned(root, "pyspark")],
        "files": [_entry(root, path, rendered) for path in paths],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def read(root: Path) -> Content:
    """Return a manifest's content. Raise ValueError if it is malformed or if a path in it could lead out of `root`."""
    file = root / files.MANIFEST
    try:
        content = json.loads(read_limited(file, MAX_BYTES))
        digests = {_valid("path", one["path"]): _valid("sha256", one["sha256"]) for one in content["files"]}
        return Content(_valid("name", content["name"]), digests)
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


def _valid(kind: str, text: str) -> str:
    pattern = _patterns()[kind]
    if not pattern.fullmatch(text):
        raise ValueError(f"{kind} {text[:200]!r} does not match {pattern.pattern}")
    return text


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the patterns in the manifest's schema, because a package that validates schemas may not be installed."""
    properties = json.loads((files.ROOT / SCHEMA).read_text(encoding="utf-8"))["properties"]
    properties |= properties["files"]["items"]["properties"]
    return {kind: re.compile(properties[kind]["pattern"]) for kind in ("name", "path", "sha256")}


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
