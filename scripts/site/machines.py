"""
Render the files that language models look for on a site: `llms.txt`, and all pages in one file.

The links in `llms.txt` lead to the raw Markdown files.
"""

from pathlib import Path

from scripts.pack import files
from spark_rtm.text import markdown


def texts(root: Path) -> dict[str, str]:
    """Return the text of each file, by file name."""
    return {"llms.txt": index(root), "llms-full.txt": everything(root)}


def index(root: Path) -> str:
    """Return a list of all pages that states when to read each page."""
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
    """Return the text of the skill and of every page, each preceded by a comment with its path."""
    paths = [root / files.SKILL, *files.references(root)]
    return "\n".join(f"<!-- {files.relative(root, path)} -->\n\n{path.read_text(encoding='utf-8')}" for path in paths)


def _lead(readme: str) -> list[str]:
    first = markdown.headings(readme)[0].line
    lines = readme.splitlines()[first:]
    start = next(number for number, line in enumerate(lines) if line)
    return lines[start : lines.index("", start)]
