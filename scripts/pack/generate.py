"""
Render the generated parts of the pack. `generate` writes them, and `validate` compares them byte for byte.

A page marks a generated part with a pair of comments, `<!-- generated: NAME -->` and `<!-- end -->`, or with a fence
that has the `excerpt` option. The cells of a column `since`, and the version and addresses of the project, are also
generated. All other text stays unchanged.
"""

import ast
import re
from pathlib import Path

from scripts.pack import blocks, files, manifest, package_data, shipped
from scripts.pack.tables.versions import with_since
from scripts.pack.version import PLACES, project, with_version
from spark_rtm.text import markdown

_BLOCK = re.compile(
    r"(?P<opening><!-- generated: (?P<name>[\w-]+)(?: (?P<argument>[^\n]+?))? -->\n).*?(?P<closing><!-- end -->)",
    re.DOTALL,
)
_CONDITIONS = re.compile(r"Measured with `(?P<command>[^`]+)` on .* Machine: ")


def render_all(root: Path) -> dict[Path, str]:
    """
    Return the expected text of every page and of every other generated file, including the manifest, keyed by path.

    Pages that do not exist are omitted, because an installed copy does not contain all of them. Raise ValueError if a
    page requests an unknown part.
    """
    others = (files.ARCHITECTURE, files.CONTRIBUTING, files.NOTICES, files.WHEEL, *(name for _, name, _ in PLACES))
    paths = dict.fromkeys([*files.pages(root), *(root / name for name in others if (root / name).is_file())])
    texts = {path: render_page(root, path) for path in paths}
    texts |= {root / name: render(root) for name, render in package_data.RENDERERS.items()}
    texts[root / files.MANIFEST] = manifest.render(root, project(root)["version"], shipped.shipped_files(root))
    return texts


def render_page(root: Path, path: Path) -> str:
    """Return the text of a page with updated generated parts."""
    name, text = files.relative(root, path), path.read_text(encoding="utf-8")
    text = with_version(root, name, text)
    if path.suffix != ".md":
        return text
    try:
        return with_since(root, _with_excerpts(root, _with_blocks(root, text)))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def write_all(root: Path) -> list[Path]:
    """Write every outdated generated file, and return the paths of the written files."""
    changed = []
    for path, text in render_all(root).items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def _with_blocks(root: Path, text: str) -> str:
    conditions: dict[str, str] = {}

    def fill(match: re.Match[str]) -> str:
        maker = blocks.BLOCKS.get(match["name"])
        if maker is None:
            raise ValueError(f"unknown generated part {match['name']!r}; use one of {', '.join(sorted(blocks.BLOCKS))}")
        section = [h for h in markdown.headings(text) if h.line <= text.count("\n", 0, match.start())][-1]
        link = f"[{section.title}](#{section.anchor})"
        content = _without_repeated_conditions(maker(root, match["argument"] or "").strip(), conditions, link)
        return f"{match['opening']}{content}\n{match['closing']}"

    return _BLOCK.sub(fill, text)


def _without_repeated_conditions(content: str, earlier: dict[str, str], section: str) -> str:
    """Replace conditions that the page already states with a link from `earlier`. Add new conditions to `earlier`."""
    first, *rest = content.split("\n")
    command = _CONDITIONS.match(first)
    stated = next((link for conditions, link in earlier.items() if conditions.startswith(first)), None)
    if command and stated:
        first = f"Measured in the `{command['command']}` runs described in {stated}."
    elif command:
        earlier[first] = section
    return "\n".join([first, *rest])


def _with_excerpts(root: Path, text: str) -> str:
    lines = text.splitlines(keepends=True)
    for fence in reversed(markdown.fences(text)):
        if target := fence.options.get("excerpt"):
            lines[fence.line : fence.end_line - 1] = [excerpt(root, target)]
    return "".join(lines)


def excerpt(root: Path, target: str) -> str:
    """
    Return the source code of `path:name`, a function or a class with its decorators. Without a name, return the file.

    Raise ValueError if the file or the name does not exist.
    """
    path, _, name = target.partition(":")
    file = root / path
    if not file.is_file():
        raise ValueError(f"excerpt {target!r}: file {path!r} does not exist")
    code = file.read_text(encoding="utf-8")
    if not name:
        return code
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "".join(code.splitlines(keepends=True)[start - 1 : node.end_lineno])
    raise ValueError(f"excerpt {target!r}: {path} does not define {name!r}")
