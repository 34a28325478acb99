"""
Compare every generated part with what the code says today, and the manifest with its schema and the skill's own fields.

The root folder arrives; a finding for each line that is out of date leaves.
"""

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import jsonschema

from scripts.pack import files, generate, manifest
from scripts.text.finding import Finding

RENEW = "run `python scripts/skills.py generate` and commit the result"


def check_generated(root: Path) -> Iterator[Finding]:
    """Yield the first line of each file that differs from its rendering."""
    try:
        texts = generate.render_all(root)
    except ValueError as error:
        name, _, text = str(error).partition(": ")
        yield Finding(name, 1, "generated", text, "name something that exists, then " + RENEW)
        return
    for path, expected in texts.items():
        actual = path.read_text(encoding="utf-8") if path.is_file() else ""
        if actual != expected:
            line, what = _first_difference(actual, expected)
            yield Finding(files.relative(root, path), line, "generated", what, RENEW)


def check_manifest(root: Path) -> Iterator[Finding]:
    """Yield each place where the manifest breaks its schema or names a file that is not there."""
    path = root / files.MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        yield Finding(files.MANIFEST, 1, "manifest", f"cannot be read: {error}", RENEW)
        return
    schema = json.loads((root / manifest.SCHEMA).read_text(encoding="utf-8"))
    for fault in jsonschema.Draft202012Validator(schema).iter_errors(content):
        place = "/".join(str(part) for part in fault.absolute_path) or "top level"
        yield Finding(files.MANIFEST, 1, "manifest", f"{place}: {fault.message}", RENEW)
        return
    for entry in content["files"]:
        if not (root / entry["path"]).is_file():
            yield Finding(files.MANIFEST, 1, "manifest", f"lists {entry['path']!r}, which does not exist", RENEW)


def _first_difference(actual: str, expected: str) -> tuple[int, str]:
    mine, theirs = actual.splitlines(), expected.splitlines()
    for tag, start, end, other_start, other_end in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if tag != "equal":
            have, want = " ".join(mine[start:end])[:60], " ".join(theirs[other_start:other_end])[:60]
            return start + 1, f"is out of date: it says {have!r} where {want!r} belongs"
    return len(mine), "is out of date: only its line ends differ"
