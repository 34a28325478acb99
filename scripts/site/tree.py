"""
List the pages and raw files of the site, whose paths match those of the repository.

The rendered form of a page has the suffix `.html`, and the raw file is in the same folder. Links to code and
other files lead to the repository.
"""

import os
from pathlib import Path

from scripts.pack import files, shipped, version

EXTRA_PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", files.NOTICES, "evals/README.md")
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
    """Return the target of a link on a page for the site. Links to files outside the site become absolute."""
    path = link.partition("#")[0]
    file = os.path.normpath(Path(page).parent / path)
    if not path or "://" in link or file.endswith(".md") or file.startswith("references/"):
        return link
    kind = "tree" if (root / file).is_dir() else "blob"
    return f"{version.project(root)['urls']['Repository']}/{kind}/main/{file}"
