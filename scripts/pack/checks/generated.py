"""Check that generated parts are up to date, and that the manifest is valid and lists only existing files."""

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import jsonschema

from scripts.pack import files, generate, manifest
from spark_rtm.text.finding import Finding

REGENERATE_REMEDY = "run `python scripts/skills.py generate` and commit the result"


def check_generated(root: Path) -> Iterator[Finding]:
    """Yield the first outdated line of each file that is out of date."""
    try:
        texts = generate.render_all(root)
    except ValueError as error:
        name, _, problem = str(error).partition(": ")
        yield Finding(name, 1, "generated", problem, "correct the name, then " + REGENERATE_REMEDY)
        return
    for path, expected in texts.items():
        actual = path.read_text(encoding="utf-8") if path.is_file() else ""
        if actual != expected:
            line, problem = _first_difference(actual, expected)
            yield Finding(files.relative(root, path), line, "generated", problem, REGENERATE_REMEDY)


def check_manifest(root: Path) -> Iterator[Finding]:
    """Yield the manifest's first schema violation, or else every missing file."""
    path = root / files.MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        yield Finding(files.MANIFEST, 1, "manifest", f"cannot be read: {error}", REGENERATE_REMEDY)
        return
    schema = json.loads((root / manifest.SCHEMA).read_text(encoding="utf-8"))
    for fault in jsonschema.Draft202012Validator(schema).iter_errors(content):
        place = "/".join(str(part) for part in fault.absolute_path) or "top level"
        yield Finding(files.MANIFEST, 1, "manifest", f"{place}: {fault.message}", REGENERATE_REMEDY)
        return
    for entry in content["files"]:
        if not (root / entry["path"]).is_file():
            yield Finding(
                files.MANIFEST, 1, "manifest", f"lists {entry['path']!r}, which does not exist", REGENERATE_REMEDY
            )


def _first_difference(actual: str, expected: str) -> tuple[int, str]:
    old, new = actual.splitlines(), expected.splitlines()
    for tag, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            old_text = " ".join(old[old_start:old_end])[:60]
            new_text = " ".join(new[new_start:new_end])[:60]
            return old_start + 1, f"is out of date: contains {old_text!r}, expected {new_text!r}"
    return len(old), "is out of date: only the line endings differ"
