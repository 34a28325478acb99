"""
List the pages and raw files of the site, whose paths match those of the repository.

A rendered page has the suffix `.html`, and the raw file is in the same folder. Links to code and other files lead to
the repository or, while the repository has no address, to copies on the site.
"""

import os
from pathlib import Path

from scripts.pack import files, shipped, version
from scripts.pack.checks import links
from spark_rtm.lint.rules.rule import CITATIONS
from spark_rtm.text import markdown

EXTRA_PAGES = (files.ARCHITECTURE, "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", files.NOTICES, "evals/README.md")
MEASURED_DIR = "references/measured"
SITE_ASSETS = "scripts/site/assets"
FRONTMATTER = "---\ntitle: {title}\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n"


def pages(root: Path) -> list[Path]:
    """Return the paths of the Markdown pages on the site."""
    return [*files.pages(root), *(root / name for name in EXTRA_PAGES)]


def raw(root: Path) -> list[str]:
    """
    Return the paths of files that are served unchanged: the skill, pages, measurements and assets.

    While the repository has no address, these are also the files to which the pages and the lint rules link.
    """
    paths = {*shipped.shipped_files(root), *pages(root), *(root / SITE_ASSETS).iterdir(), root / files.MANIFEST}
    if not repository(root):
        paths |= {_shown(path) for page in pages(root) for path in links.link_targets(page)}
        cited = (source.removeprefix("../") for source in CITATIONS.values() if source.startswith("../"))
        paths |= {path for name in cited if (path := root / name).is_file()}
    return sorted(files.relative(root, path) for path in paths | set(files.files_below(root / MEASURED_DIR)))


def target(root: Path, page: str, link: str) -> str:
    """Return the target that a page's link has on the site. Links to files outside the site become absolute."""
    path = link.partition("#")[0]
    file = os.path.normpath(Path(page).parent / path)
    if not path or "://" in link or file.endswith(".md") or file.startswith("references/"):
        return link
    if address := repository(root):
        return f"{address}/{'tree' if (root / file).is_dir() else 'blob'}/main/{file}"
    return os.path.relpath(_shown(root / file), (root / page).parent)


def repository(root: Path) -> str:
    """Return the repository's address, or an empty string while it has none."""
    return str(version.project(root).get("urls", {}).get("Repository", ""))


def _shown(path: Path) -> Path:
    """Return the file that the site shows in place of a folder: its `__init__.py`, or else its first file."""
    if path.is_dir():
        return next(iter([*path.glob("__init__.py"), *files.files_below(path)]), path)
    return path


def linked(root: Path, page: str, text: str, above: str = "") -> str:
    """Return a page's Markdown with links for the site. `above` is the path from a subfolder to the page's folder."""
    lines = text.splitlines()
    for link in markdown.links(text):
        there = target(root, page, link.target)
        there = there if "://" in there else above + there
        inline = lines[link.line - 1].replace(f"]({link.target})", f"]({there})")
        lines[link.line - 1] = inline.replace(f"]: {link.target}", f"]: {there}")
    return "\n".join(lines)
