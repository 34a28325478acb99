"""
Know what the site shows: pages, sources that pages link to, folders, and the raw files beside them.

The root folder arrives; lists of files and the text of source pages leave.
Addresses are those of the repository: a page or source ends in `.html`, and its raw file stands beside it.
"""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

from scripts.pack import files
from scripts.pack.checks.links import targets

LOOSE_PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")
IMAGES = {".svg", ".png"}
MEASURED = "references/measured"
FRONT = "---\ntitle: {title}\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n"


def pages(root: Path) -> list[Path]:
    """Return the Markdown pages."""
    return [*files.pages(root), *(root / name for name in LOOSE_PAGES)]


@cache
def linked(root: Path) -> dict[str, list[Path]]:
    """Return for each file and folder to which a page links, by its path from the root, the pages that do."""
    found: dict[str, list[Path]] = defaultdict(list)
    for page in pages(root):
        for target in targets(page):
            if target.is_relative_to(root) and target.suffix != ".md":
                found[files.relative(root, target)].append(page)
    return dict(found)


@cache
def sources(root: Path) -> list[str]:
    """Return the files that get a page of their own: every module, and whatever else a page links to."""
    names = {files.relative(root, module) for module in files.modules(root)}
    others = {name for name in linked(root) if (root / name).is_file() and Path(name).suffix not in IMAGES}
    return sorted(names | others)


@cache
def folders(root: Path) -> list[str]:
    """Return the folders of `examples/`, each of which gets a list of its modules."""
    return sorted({str(Path(name).parent) for name in sources(root) if name.startswith("examples/")})


def raw(root: Path) -> list[str]:
    """Return every file that is served as it is: what the manifest lists, the pages and the sources."""
    shipped = [files.relative(root, path) for path in files.shipped(root)]
    loose = [files.relative(root, path) for path in pages(root)]
    assets = [files.relative(root, path) for path in (root / files.SITE_DIR / "assets").iterdir()]
    return sorted({*shipped, *loose, *assets, *sources(root), files.MANIFEST})


def source_page(root: Path, name: str) -> str:
    """Return the page of a source: who links to it, and its text."""
    text = (root / name).read_text(encoding="utf-8")
    depth = "../" * name.count("/")
    back = [
        f"[{files.title(page.read_text(encoding='utf-8'))}]({depth}{files.relative(root, page)})"
        for page in linked(root).get(name, [])
    ]
    back += [f"[{Path(other).name}]({depth}{other})" for other in _counterparts(root, name)]
    folder = str(Path(name).parent)
    back += [f"[{folder}/]({depth}{folder}/index.md)"] if folder in folders(root) else []
    mark = "`" * (max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1)
    language = {".py": "python", ".scala": "scala", ".java": "java", ".json": "json", ".toml": "toml"}.get(
        Path(name).suffix, "text"
    )
    front = FRONT.format(title=Path(name).name)
    return f"{front}# `{name}`\n\nBack to {', '.join(back)}\n\n{mark}{language}\n{text}\n{mark}\n"


def folder_page(root: Path, folder: str) -> str:
    """Return the page of a folder: its modules with the first sentence about each."""
    lines = [FRONT.format(title=f"{folder}/"), f"# `{folder}/`\n"]
    inner = [name for name in folders(root) if str(Path(name).parent) == folder]
    lines += [
        f"- [{Path(name).name}/]({Path(name).name}/index.md): {_about(root / name / '__init__.py')}" for name in inner
    ]
    names = [name for name in sources(root) if str(Path(name).parent) == folder and not name.endswith("__init__.py")]
    lines += [f"- [{Path(name).name}]({Path(name).name}): {_about(root / name)}" for name in names]
    return "\n".join(lines) + "\n"


def _counterparts(root: Path, name: str) -> list[str]:
    stem = Path(name).stem
    wanted = stem.removeprefix("test_") if stem.startswith("test_") else f"test_{stem}"
    return [other for other in sources(root) if Path(other).stem == wanted and other != name]


def _about(path: Path) -> str:
    if path.suffix != ".py" or not path.is_file():
        return ""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n\n")[0].replace("\n", " ")
