"""
Write what would otherwise be written twice: excerpts, tables made from code, the router and the manifest.

A root folder arrives; the text that each generated file must have leaves.
`generate` writes these texts and `validate` compares them, byte for byte, so both walk this one path.

A page asks for a generated part by a pair of comments, `<!-- generated: NAME -->` and `<!-- end -->`, or by a fence
with the option `excerpt`. Everything outside of them is left as it is.
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
    Return the right text of every page and of the manifest, by path.

    Raises ValueError when a page asks for something that does not exist.
    """
    texts = {path: render_page(root, path) for path in files.pages(root)}
    texts[root / files.MANIFEST] = manifest.render(root, texts)
    return texts


def render_page(root: Path, path: Path) -> str:
    """Return the page with its generated parts made anew."""
    name, text = files.relative(root, path), path.read_text(encoding="utf-8")
    try:
        return _with_excerpts(root, _with_blocks(root, text))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def write_all(root: Path) -> list[Path]:
    """Write what is not yet right and return the files that changed."""
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
            raise ValueError(f"no generated part is called {match['name']!r}; there are {sorted(blocks.BLOCKS)}")
        return f"{match['opening']}{maker(root, match['argument'] or '').strip()}\n{match['closing']}"

    return _BLOCK.sub(fill, text)


def _with_excerpts(root: Path, text: str) -> str:
    lines = text.splitlines(keepends=True)
    for fence in reversed(markdown.fences(text)):
        if target := fence.options.get("excerpt"):
            lines[fence.line : fence.end_line - 1] = [excerpt(root, target)]
    return "".join(lines)
