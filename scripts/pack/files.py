"""List the pages, modules and other files of a checkout or of an installed copy of the skill, in a fixed order."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CODE = ("spark_rtm", "examples", "benchmarks")
TOOLS = ("spark_rtm/inspect/", "spark_rtm/lint/", "spark_rtm/prove/", "spark_rtm/text/")
"""Packages that implement commands. Readers do not copy them. The linter contains deliberate mistakes as examples."""
SKILL = "SKILL.md"
MANIFEST = "manifest.json"
ARCHITECTURE = "ARCHITECTURE.md"
CONTRIBUTING = "CONTRIBUTING.md"
WHEEL = "spark_rtm/README.md"
NOTICES = "THIRD_PARTY.md"
"""The page with the licences of the packages and jars that this repository downloads."""
_READ_WHEN = re.compile(r"^\*Read when (?P<when>.+?)\.?\*$", re.MULTILINE)


def pages(root: Path) -> list[Path]:
    """Return the Markdown pages for readers and assistants: `SKILL.md`, the README and the references."""
    return [path for path in (root / SKILL, root / "README.md", *references(root)) if path.is_file()]


def linked_pages(root: Path) -> list[Path]:
    """Return all Markdown pages whose links are checked."""
    return [*dict.fromkeys([*pages(root), *sorted(root.glob("*.md")), *sorted((root / "evals").glob("*.md"))])]


def references(root: Path) -> list[Path]:
    """Return the pages under `references/`."""
    return sorted((root / "references").rglob("*.md"))


def modules(root: Path) -> list[Path]:
    """Return the Python modules of the library, the examples and the benchmarks that readers may copy."""
    paths = (path for name in CODE for path in files_below(root / name) if path.suffix == ".py")
    return [path for path in paths if not relative(root, path).startswith(TOOLS)]


def frontmatter(root: Path) -> dict[str, Any]:
    """Return the YAML fields at the beginning of `SKILL.md`, or an empty dictionary if there are none."""
    import yaml  # noqa: PLC0415  # `install` must run without packages

    match = re.match(r"---\n(.*?)\n---\n", (root / SKILL).read_text(encoding="utf-8"), re.DOTALL)
    fields: dict[str, Any] = yaml.safe_load(match[1]) if match else {}
    return fields


def read_when(text: str) -> str | None:
    """Return the condition in a page's `*Read when ...*` line, or None if the page has no such line."""
    match = _READ_WHEN.search(text)
    return match["when"] if match else None


def title(text: str) -> str:
    """Return the first top-level heading of a page, or an empty string if the page has none."""
    match = re.search(r"^# (.+)$", text, re.MULTILINE)
    return match[1].strip() if match else ""


def relative(root: Path, path: Path) -> str:
    """Return `path` relative to the root, with forward slashes as in findings and links."""
    return path.relative_to(root).as_posix()


def files_below(folder: Path) -> list[Path]:
    """Return all files below a folder, except hidden files and Python caches."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in paths if not _is_leftover(path.relative_to(folder)))


def _is_leftover(path: Path) -> bool:
    return any(part == "__pycache__" or part.startswith(".") for part in path.parts) or path.suffix == ".pyc"
