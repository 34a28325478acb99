"""
List the pages and raw files of the site, whose paths match those of the repository.

The rendered form of a page has the suffix `.html`, and the raw file is in the same folder. Links to code and
other files lead to the repository.
"""

import os
from pathlib import Path

from scripts.pack import files, shipped, version
from spark_rtm.text import markdown

EXTRA_PAGES = (files.ARCHITECTURE, "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", files.NOTICES, "evals/README.md")
MEASURED_DIR = "references/measured"
SITE_ASSETS = "scripts/site/assets"
FRONTMATTER = "---\ntitle: {title}\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n"


def pages(root: Path) -> list[Path]:
    """Return the paths of the Markdown pages on the site."""
    return [*files.pages(root), *(root / name for name in EXTRA_PAGES)]


def raw(root: Path) -> list[str]:
    """Return the paths of files that are served unchanged: the skill, pages, measurements and assets."""
    paths = {*shipped.shipped_files(root), *pages(root), *(root / SITE_ASSETS).iterdir(), root / files.MANIFEST}
    return sorted(files.relative(root, path) for path in paths | set(files.files_below(root / MEASURED_DIR)))


def target(root: Path, page: str, link: str) -> str:
    """Return the target that a page's link has on the site. Links to files outside the site become absolute."""
    path = link.partition("#")[0]
    file = os.path.normpath(Path(page).parent / path)
    if not path or "://" in link or file.endswith(".md") or file.startswith("references/"):
        return link
    kind = "tree" if (root / file).is_dir() else "blob"
    return f"{version.project(root)['urls']['Repository']}/{kind}/main/{file}"


def linked(root: Path, page: str, text: str, above: str = "") -> str:
    """Return a page's Markdown with links for the site. `above` is the path from a subfolder to the page's folder."""
    lines = text.splitlines()
    for link in markdown.links(text):
        there = target(root, page, link.target)
        there = there if "://" in there else above + there
        inline = lines[link.line - 1].replace(f"]({link.target})", f"]({there})")
        lines[link.line - 1] = inline.replace(f"]: {link.target}", f"]: {there}")
    return "\n".join(lines)
