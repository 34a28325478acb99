"""
List the contents of the site, whose paths match those of the repository.

The rendered form of a page or source file has the suffix `.html`, and the raw file is in the same folder.
"""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

from scripts.pack import files, shipped
from scripts.pack.checks.links import link_targets

EXTRA_PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", files.NOTICES, "evals/README.md")
IMAGE_SUFFIXES = {".png", ".svg"}
MEASURED_DIR = "references/measured"
SITE_ASSETS = "scripts/site/assets"
FRONTMATTER = "---\ntitle: {title}\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n"


def pages(root: Path) -> list[Path]:
    """Return the paths of the Markdown pages on the site."""
    return [*files.pages(root), *(root / name for name in EXTRA_PAGES)]


@cache
def linked(root: Path) -> dict[str, list[Path]]:
    """Map the path of each linked file or folder to the pages that link to it."""
    pages_by_target: dict[str, list[Path]] = defaultdict(list)
    for page in pages(root):
        for target in link_targets(page):
            if target.is_relative_to(root) and target.suffix != ".md":
                pages_by_target[files.relative(root, target)].append(page)
    return dict(pages_by_target)


@cache
def sources(root: Path) -> list[str]:
    """Return the files with a page: modules, except unlinked ones of a benchmark, and linked files, except images."""
    modules = (module for module in files.modules(root) if module.parents[1] != root / "benchmarks")
    names = {files.relative(root, module) for module in modules}
    others = {name for name in linked(root) if (root / name).is_file() and Path(name).suffix not in IMAGE_SUFFIXES}
    return sorted(names | others)


@cache
def folders(root: Path) -> list[str]:
    """Return the folders of the source files. The page of each folder lists the modules in it."""
    return sorted({str(Path(name).parent) for name in sources(root) if name.partition("/")[0] in files.CODE})


def raw(root: Path) -> list[str]:
    """Return the paths of files that are served unchanged: the skill, pages, measurements, sources and assets."""
    skill = [files.relative(root, path) for path in shipped.shipped_files(root)]
    page_names = [files.relative(root, path) for path in pages(root)]
    assets = [files.relative(root, path) for path in (root / SITE_ASSETS).iterdir()]
    measured = [files.relative(root, path) for path in files.files_below(root / MEASURED_DIR)]
    return sorted({*skill, *page_names, *assets, *measured, *sources(root), files.MANIFEST})


def source_page(root: Path, name: str) -> str:
    """Return the page of a source file, with links to related pages and folders, and the text of the file."""
    text, path = (root / name).read_text(encoding="utf-8"), Path(name)
    depth, folder = "../" * name.count("/"), str(path.parent)
    related = [
        f"[{files.title(page.read_text(encoding='utf-8'))}]({depth}{files.relative(root, page)})"
        for page in linked(root).get(name, [])
    ]
    related += [f"[{folder}/]({depth}{folder}/index.md)"] if folder in folders(root) else []
    # The mark of the fence must be longer than any run of backticks in the text.
    mark = "`" * (max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1)
    language = {".py": "python"}.get(path.suffix, path.suffix[1:] or "text")
    header = f"{FRONTMATTER.format(title=path.name)}# `{name}`\n\nSee also: {', '.join(related)}\n\n"
    return f"{header}{mark}{language}\n{text}\n{mark}\n"


def folder_page(root: Path, folder: str) -> str:
    """Return the page of a folder, which lists its subfolders and modules with the summary of each docstring."""
    inner = [Path(name) for name in folders(root) if str(Path(name).parent) == folder]
    paths = [Path(name) for name in sources(root) if str(Path(name).parent) == folder and "__init__" not in name]
    lines = [FRONTMATTER.format(title=f"{folder}/"), f"# `{folder}/`\n"]
    lines += [f"- [{path.name}/]({path.name}/index.md): {about(root / path / '__init__.py')}" for path in inner]
    lines += [f"- [{path.name}]({path.name}): {about(root / path)}" for path in paths]
    return "\n".join(lines) + "\n"


def about(path: Path) -> str:
    """Return the first paragraph of a module's docstring, or an empty string if the file has no docstring."""
    if path.suffix != ".py" or not path.is_file():
        return ""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n\n")[0].replace("\n", " ")
