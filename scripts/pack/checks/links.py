"""
Follow every relative link and anchor, and find pages, modules and tests that nothing leads to.

The root folder arrives; findings leave.
Links are relative and right in the raw tree, because an assistant reads the tree and not the site.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from scripts.pack import files
from scripts.text import markdown
from scripts.text.finding import Finding

# Tests of several things at once, which therefore bear the name of none.
SHARED_TESTS = ("tests/pages/", "tests/test_layout.py")


def check_links(root: Path) -> Iterator[Finding]:
    """Yield links to files or anchors that are not there."""
    for path in files.pages(root):
        name, text = files.relative(root, path), path.read_text(encoding="utf-8")
        seen: set[str] = set()
        for heading in markdown.headings(text):
            if heading.anchor in seen:
                what = f"the heading {heading.title!r} is there twice, so links cannot tell them apart"
                yield Finding(name, heading.line, "link", what, "rename one of them")
            seen.add(heading.anchor)
        for link in markdown.links(text):
            if broken := _broken(root, path, link.target):
                yield Finding(name, link.line, "link", broken, "correct the target or remove the link")


def check_orphans(root: Path) -> Iterator[Finding]:
    """Yield pages without a reason to be read or a way to them, modules without a page, and tests without a subject."""
    yield from _check_pages(root)
    reachable = _reachable_modules(root)
    for module in files.modules(root):
        if module not in reachable and module.name != "__init__.py":
            what = "no page links to it, nor does a module that a page links to use it"
            yield Finding(files.relative(root, module), 1, "orphan", what, "link it from its page or delete it")
    subjects = [*files.modules(root), *files.references(root), *(root / "scripts").rglob("*.py")]
    subjects += (root / "examples").rglob("*.scala")
    names = {path.stem.strip("_") for path in subjects} | {path.parent.name for path in subjects}
    for test in files.tests(root):
        name, subject = files.relative(root, test), test.stem.removeprefix("test_")
        if not name.startswith(SHARED_TESTS) and not any(f"{subject}_".startswith(f"{known}_") for known in names):
            what = f"tests {subject!r}, and no module or page has this name"
            yield Finding(name, 1, "orphan", what, "name the test after its module or page")


def targets(path: Path) -> set[Path]:
    """Return the files and folders of the repository to which a page links."""
    found = set()
    for link in markdown.links(path.read_text(encoding="utf-8")):
        if not _is_outside(link.target) and (plain := link.target.partition("#")[0]):
            found.add((path.parent / plain).resolve())
    return found


def _check_pages(root: Path) -> Iterator[Finding]:
    skill = root / files.SKILL
    routed = targets(skill) if skill.is_file() else set()
    for page in files.references(root):
        name, text = files.relative(root, page), page.read_text(encoding="utf-8")
        if files.read_when(text) is None:
            what = "says nowhere when it should be read, so SKILL.md cannot route to it"
            yield Finding(name, 1, "orphan", what, "add a line `*Read when ...*` below its title")
        if page.resolve() not in routed:
            remedy = "run `python scripts/skills.py generate`"
            yield Finding(name, 1, "orphan", "SKILL.md does not link to it, so no assistant finds it", remedy)
        linked = targets(page)
        if not any(target.is_relative_to((root / "tests").resolve()) for target in linked):
            what = "links to no test, so nothing shows that its claims are true"
            yield Finding(name, 1, "orphan", what, "link the test that proves it")
        modules = [found for found in files.modules(root) if found.stem == page.stem]
        if modules and not any(module.resolve() in linked for module in modules):
            what = f"does not link to its module {files.relative(root, modules[0])}"
            yield Finding(name, 1, "orphan", what, "link it")


def _reachable_modules(root: Path) -> set[Path]:
    linked = {target for page in files.pages(root) for target in targets(page)}
    everything = {path.resolve(): path for path in files.modules(root)}
    todo = [
        path
        for real, path in everything.items()
        if real in linked or any(p in linked for p in real.parents if p != root.resolve())
    ]
    found: set[Path] = set()
    while todo:
        module = todo.pop()
        if module not in found:
            found.add(module)
            todo += [everything[used] for used in _imports(root, module) if used in everything]
    return found


def _imports(root: Path, module: Path) -> set[Path]:
    files: list[Path] = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(".py"):
            # Modules that are started as a file, such as a supervisor, are named in a string.
            files += [module.with_name(node.value)] if "/" not in node.value else []
        for name in names:
            plain = root.joinpath(*name.split("."))
            files += [plain.with_suffix(".py"), plain / "__init__.py"]
    return {file.resolve() for file in files if file.is_file()}


def _broken(root: Path, page: Path, target: str) -> str | None:
    if _is_outside(target):
        return None
    plain, _, anchor = target.partition("#")
    file = (page.parent / plain) if plain else page
    if plain.startswith("/") or not file.resolve().is_relative_to(root.resolve()):
        return f"{target!r} leaves the repository"
    if not file.exists():
        return f"{target!r} does not exist"
    if anchor and file.suffix == ".md":
        known = {heading.anchor for heading in markdown.headings(file.read_text(encoding="utf-8"))}
        if anchor not in known:
            return f"{target!r} names an anchor that {file.name} does not have"
    return None


def _is_outside(target: str) -> bool:
    return target.startswith(("http://", "https://", "mailto:"))
