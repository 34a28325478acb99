"""
Write output for other programs: Markdown for a site generator, and text files for language models.

The hooks of mkdocs render the Markdown. `python -m scripts.site FOLDER` writes the Markdown and the linked raw files to
a folder, so that another site generator can build the site. The navigation is in `mkdocs.yml`. The links in `llms.txt`
lead to the raw Markdown files.
"""

from pathlib import Path

from scripts.pack import files
from scripts.site import api, measured, page, redirects, rules, tree
from spark_rtm.text import markdown


def in_navigation(root: Path) -> dict[str, str]:
    """Return the Markdown of the pages for the navigation, keyed by path."""
    pages = {files.relative(root, path): path.read_text(encoding="utf-8") for path in tree.pages(root)}
    pages |= {f"{name}.md": tree.source_page(root, name) for name in tree.sources(root)}
    pages |= {f"{folder}/index.md": tree.folder_page(root, folder) for folder in tree.folders(root)}
    pages[f"{tree.MEASURED_DIR}/index.md"] = measured.page(root)
    return {name: page.for_site(root, name, text) for name, text in pages.items()} | api.pages(root)


def beside_navigation(root: Path) -> dict[str, str]:
    """Return the Markdown of rule pages and redirects, which are not in the navigation, keyed by path."""
    return rules.pages() | redirects.pages(root)


def write(root: Path, folder: Path) -> int:
    """Write all pages and their linked raw files to a folder, and return the number of pages."""
    pages = in_navigation(root) | beside_navigation(root)
    contents = {name: (root / name).read_bytes() for name in tree.raw(root) if not name.endswith(".md")}
    contents |= {name: text.encode() for name, text in pages.items()}
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return len(pages)


def texts(root: Path) -> dict[str, str]:
    """Return the texts of `llms.txt` and `llms-full.txt`, keyed by file name."""
    return {"llms.txt": index(root), "llms-full.txt": everything(root)}


def index(root: Path) -> str:
    """Return the text of `llms.txt`, which lists all pages with their `Read when` lines."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    lines = [f"# {files.title(readme)}", "", *(f"> {line}" for line in _lead(readme)), "", "## Pages", ""]
    lines.append("- [Skill](SKILL.md): the rules that apply to every query; start here")
    for path in files.references(root):
        text = path.read_text(encoding="utf-8")
        lines.append(f"- [{files.title(text)}]({files.relative(root, path)}): {files.read_when(text)}")
    lines += ["", "## Optional", "", "- [All pages in one file](llms-full.txt): the skill and every page"]
    lines.append(
        f"- [Manifest]({files.MANIFEST}): every file of the skill with size and SHA-256; this site serves all of them"
    )
    return "\n".join(lines) + "\n"


def everything(root: Path) -> str:
    """Return the texts of `SKILL.md` and of all references, each below a comment with the path of the page."""
    paths = [root / files.SKILL, *files.references(root)]
    return "\n".join(f"<!-- {files.relative(root, path)} -->\n\n{path.read_text(encoding='utf-8')}" for path in paths)


def _lead(readme: str) -> list[str]:
    first = markdown.headings(readme)[0].line
    lines = readme.splitlines()[first:]
    start = next(number for number, line in enumerate(lines) if line)
    return lines[start : lines.index("", start)]
