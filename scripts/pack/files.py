"""
Know what belongs to the pack: its pages, its modules, its tests and the files that an installed skill consists of.

The root folder of a checkout or of an installed copy arrives; lists of files leave, always in the same order.
One list serves generate, validate, install and the tests, so that no file is judged by one and missed by another.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKILL = "SKILL.md"
MANIFEST = "manifest.json"
# What an installed skill consists of, beside the manifest; the tests stay in the repository.
SHIPPED = (
    SKILL,
    "README.md",
    "LICENSE",
    "Makefile",
    "pyproject.toml",
    "constraints.txt",
    "references",
    "examples",
    "scripts",
)
SITE = "scripts/site"
_READ_WHEN = re.compile(r"^\*Read when (?P<when>.+?)\.?\*$", re.MULTILINE)


def pages(root: Path) -> list[Path]:
    """Return the Markdown pages that readers and assistants get: the skill, the README and the references."""
    return [path for path in (root / SKILL, root / "README.md", *references(root)) if path.is_file()]


def references(root: Path) -> list[Path]:
    """Return the pages under `references/`."""
    return sorted((root / "references").rglob("*.md"))


def modules(root: Path) -> list[Path]:
    """Return the Python modules under `examples/`."""
    return [path for path in _files(root / "examples") if path.suffix == ".py"]


def tests(root: Path) -> list[Path]:
    """Return the test modules."""
    return sorted((root / "tests").rglob("test_*.py"))


def shipped(root: Path) -> list[Path]:
    """Return every file of the skill, except the manifest that lists them."""
    found = [path for name in SHIPPED for path in ([root / name] if (root / name).is_file() else _files(root / name))]
    return [path for path in found if not path.is_relative_to(root / SITE)]


def read_when(text: str) -> str | None:
    """Return the situation in which a page should be opened: its line `*Read when ...*`."""
    match = _READ_WHEN.search(text)
    return match["when"] if match else None


def title(text: str) -> str:
    """Return the first heading of a page."""
    match = re.search(r"^# (.+)$", text, re.MULTILINE)
    return match[1].strip() if match else ""


def relative(root: Path, path: Path) -> str:
    """Return the path as it is written in findings and links: from the root, with forward slashes."""
    return path.relative_to(root).as_posix()


def _files(folder: Path) -> list[Path]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if not _is_left_over(path.relative_to(folder)))


def _is_left_over(path: Path) -> bool:
    return any(part == "__pycache__" or part.startswith(".") for part in path.parts) or path.suffix == ".pyc"
