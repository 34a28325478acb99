"""
Render the generated parts of the pack: excerpts, tables built from code, the router and the manifest.

`generate` writes the rendered texts and `validate` compares them byte for byte, so both use `render_all`.

A page requests a generated part with a pair of comments, `<!-- generated: NAME -->` and `<!-- end -->`, or with a
fence that has the option `excerpt`. All other text stays unchanged.
"""

import re
from pathlib import Path

from scripts.pack import blocks, files, manifest
from scripts.pack.excerpt import excerpt
from scripts.text import markdown

_BLOCK = re.compile(
    r"(?P<opening><!-- generated: (?P<name>[\w-]+)(?: (?P<argument>[^\n]+?))? -->\n).*?(?P<closing><!-- end -->)",
    re.DOTALL,
)


def render_all(root: Path) -> dict[Path, str]:
    """
    Return the expected text of every page and of the manifest, by path.

    Raise ValueError if a page requests a part that does not exist.
    """
    texts = {path: render_page(root, path) for path in files.pages(root)}
    texts[root / files.MANIFEST] = manifest.render(root, texts)
    return texts


def render_page(root: Path, path: Path) -> str:
    """Return the text of a page with all its generated parts updated."""
    name, text = files.relative(root, path), path.read_text(encoding="utf-8")
    try:
        return _with_excerpts(root, _with_blocks(root, text))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def write_all(root: Path) -> list[Path]:
    """Write every generated file that is out of date, and return the written files."""
    changed = []
    for path, text in render_all(root).items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def _with_blocks(root: Path, text: str) -> str:
    def fill(match: re.Match[str]) -> str:
        maker = blocks.BLOCKS.get(match["name"])
        if maker is None:
            raise ValueError(f"unknown generated part {match['name']!r}; use one of {', '.join(sorted(blocks.BLOCKS))}")
        return f"{match['opening']}{maker(root, match['argument'] or '').strip()}\n{match['closing']}"

    return _BLOCK.sub(fill, text)


def _with_excerpts(root: Path, text: str) -> str:
    lines = text.splitlines(keepends=True)
    for fence in reversed(markdown.fences(text)):
        if target := fence.options.get("excerpt"):
            lines[fence.line : fence.end_line - 1] = [excerpt(root, target)]
    return "".join(lines)
