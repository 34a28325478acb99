"""Check every relative link and anchor between the files of the repository, and report orphaned pages and modules."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from scripts.pack import files
from spark_rtm.text import markdown
from spark_rtm.text.finding import Finding

# Each release of the changelog has the same headings.
CHANGELOG = "CHANGELOG.md"
SITE = "mkdocs.yml"
_NAV_ENTRY = re.compile(r"^ +- (?:[^#\n]+: )?(?P<page>\S+\.md)$", re.MULTILINE)
_EXTERNAL = ("http://", "https://", "mailto:")
PROGRAM = "spark_rtm/__main__.py"
"""The module that `python -m spark_rtm` runs. No page links to it, and copies of the skill do not contain it."""


def check_links(root: Path) -> Iterator[Finding]:
    """Yield links to files or anchors that do not exist, and headings that share an anchor."""
    for path in files.linked_pages(root):
        name, text = files.relative(root, path), path.read_text(encoding="utf-8")
        known: set[str] = set()
        for heading in markdown.headings(text):
            if heading.anchor in known and name != CHANGELOG:
                problem = f"the heading {heading.title!r} appears twice, so links lead only to the first heading"
                yield Finding(name, heading.line, "link", problem, "rename one of the headings")
            known.add(heading.anchor)
        for link in markdown.links(text):
            if broken := _broken(root, path, link.target):
                yield Finding(name, link.line, "link", broken, "correct the target or remove the link")


def check_orphans(root: Path) -> Iterator[Finding]:
    """
    Yield pages without the required links, and unreachable modules.

    Each page must link to a test, and to a module with the page's name if there is one. A module is reachable if a page
    links to it or to its folder, or if a reachable module imports it.
    """
    modules, tests = files.modules(root), (root / "tests").resolve()
    for page in files.references(root):
        name, linked = files.relative(root, page), link_targets(page)
        if files.read_when(page.read_text(encoding="utf-8")) is None:
            problem = "has no line `*Read when ...*`, so SKILL.md cannot state when to read the page"
            yield Finding(name, 1, "orphan", problem, "add the line below the title")
        if not any(target.is_relative_to(tests) for target in linked):
            problem = "does not link to a test, so no test proves its claims"
            yield Finding(name, 1, "orphan", problem, "link the test that proves the claims")
        own = [module for module in modules if module.stem == page.stem]
        if own and not any(module.resolve() in linked for module in own):
            problem = f"does not link to its module {files.relative(root, own[0])}"
            yield Finding(name, 1, "orphan", problem, "add the link")
    linked = {target for page in files.pages(root) for target in link_targets(page)} - {root.resolve()}
    starts = (path for path in modules if linked & {path.resolve(), *path.resolve().parents})
    reachable = with_imports(root, starts, root)
    for module in modules:
        if module not in reachable and module.name != "__init__.py" and module != root / PROGRAM:
            problem = "is not linked from a page, and no linked module imports it"
            yield Finding(files.relative(root, module), 1, "orphan", problem, "link to the module, or delete it")


def navigation(root: Path) -> list[str]:
    """Return the pages in the order of the site's navigation."""
    entries = (root / SITE).read_text(encoding="utf-8").partition("\nnav:\n")[2]
    return [match["page"] for match in _NAV_ENTRY.finditer(entries)]


def link_targets(page: Path) -> set[Path]:
    """Return the files and folders of the repository that a page links to."""
    targets = (link.target for link in markdown.links(page.read_text(encoding="utf-8")))
    names = {target.partition("#")[0] for target in targets if not target.startswith(_EXTERNAL)}
    return {(page.parent / name).resolve() for name in names if name}


def with_imports(folder: Path, paths: Iterable[Path], root: Path) -> set[Path]:
    """Return those of `paths` that are in `folder`, and all modules in it that they import, directly or indirectly."""
    pending = list(paths)
    found: set[Path] = set()
    while pending:
        path = pending.pop()
        if path not in found and path.is_relative_to(folder) and path.is_file():
            found.add(path)
            if path.suffix == ".py":
                names = imported_files(path.read_text(encoding="utf-8"), files.relative(root, path.parent))
                pending += [root / name for name in names]
    return found


@lru_cache(None)
def imported_files(code: str, folder: str) -> set[str]:
    """Return the paths of files that a module with this code in `folder` might import or start."""
    names: set[str] = set()
    paths: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[^/]*\.py", node.value):
            # A module that is started as a file, such as a supervisor, is named in a string instead of imported.
            paths.add(f"{folder}/{node.value}")
    bases = {name.replace(".", "/") for name in names}
    return paths | {f"{base}.py" for base in bases} | {f"{base}/__init__.py" for base in bases}


def _broken(root: Path, page: Path, target: str) -> str | None:
    if target.startswith(_EXTERNAL):
        return None
    path, _, anchor = target.partition("#")
    file = (page.parent / path) if path else page
    if path.startswith("/") or not file.resolve().is_relative_to(root.resolve()):
        return f"{target!r} is outside the repository"
    if not file.exists():
        return f"{target!r} does not exist"
    if anchor and file.suffix == ".md":
        headings = markdown.headings(file.read_text(encoding="utf-8"))
        if anchor not in {heading.anchor for heading in headings}:
            return f"{target!r} refers to an anchor that does not exist in {file.name}"
    return None
