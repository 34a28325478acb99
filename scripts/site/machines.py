"""
Render the Markdown of the whole site, for mkdocs or another generator, and text files for language models.

`python -m scripts.site FOLDER` writes the Markdown and the raw files to a folder.
"""

from pathlib import Path

from scripts.pack import files
from scripts.site import api, measured, page, redirects, rules, tree


def in_navigation(root: Path) -> dict[str, str]:
    """Return the Markdown of the pages for the navigation, keyed by path."""
    pages = {files.relative(root, path): path.read_text(encoding="utf-8") for path in tree.pages(root)}
    pages[f"{tree.MEASURED_DIR}/index.md"] = measured.page(root)
    return {name: page.for_site(root, name, text) for name, text in pages.items()} | api.pages(root)


def beside_navigation(root: Path) -> dict[str, str]:
    """Return the Markdown of rule pages and redirects, which are not in the navigation, keyed by path."""
    return rules.pages() | redirects.pages(root)


def write(root: Path, folder: Path) -> int:
    """Write all pages and raw files to a folder, and return the number of pages."""
    pages = in_navigation(root) | beside_navigation(root)
    contents = {name: (root / name).read_bytes() for name in tree.raw(root) if not name.endswith(".md")}
    contents |= {name: text.encode() for name, text in pages.items()}
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return len(pages)


def texts(root: Path) -> dict[str, str]:
    """Return the texts of `llms.txt`, the list of all pages, and of `llms-full.txt`, which contains all pages."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    pages = {files.relative(root, path): path.read_text(encoding="utf-8") for path in files.references(root)}
    lead = readme[readme.index("\n\n") :].strip().partition("\n\n")[0].splitlines()
    lines = [f"# {files.title(readme)}", "", *(f"> {line}" for line in lead), "", "## Pages", ""]
    lines.append("- [Skill](SKILL.md): the rules that apply to every query; start here")
    lines += [f"- [{files.title(text)}]({name}): {files.read_when(text)}" for name, text in pages.items()]
    lines += ["", "## Optional", "", "- [All pages in one file](llms-full.txt): the skill and every page"]
    lines.append(
        f"- [Manifest]({files.MANIFEST}): every file of the skill with size and SHA-256; this site serves all of them"
    )
    whole = {files.SKILL: (root / files.SKILL).read_text(encoding="utf-8"), **pages}
    everything = "\n".join(f"<!-- {name} -->\n\n{text}" for name, text in whole.items())
    return {"llms.txt": "\n".join(lines) + "\n", "llms-full.txt": everything}
