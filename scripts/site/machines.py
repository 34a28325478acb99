"""Render the Markdown of the whole site, and text files for language models."""

import ast
from pathlib import Path

from scripts.pack import files
from scripts.site import measured, page, redirects, rules, tree

API_PACKAGES = ("realtime", "kafka", "sinks", "testing")
# Pages that explain a task rank above those that list its functions.
API_FRONTMATTER = "---\nsearch:\n  boost: 0.2\n---\n"


def in_navigation(root: Path) -> dict[str, str]:
    """Return the Markdown of the pages for the navigation, keyed by path."""
    pages = {files.relative(root, path): path.read_text(encoding="utf-8") for path in tree.pages(root)}
    pages[f"{tree.MEASURED_DIR}/index.md"] = measured.page(root)
    return {name: page.for_site(root, name, text) for name, text in pages.items()} | api_pages(root)


def beside_navigation(root: Path) -> dict[str, str]:
    """Return the Markdown of rule pages and redirects, which are not in the navigation, keyed by path."""
    return rules.pages() | redirects.pages(root)


def texts(root: Path) -> dict[str, str]:
    """Return the contents of `llms.txt`, the list of all pages, and `llms-full.txt`, which contains all pages."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    pages = {files.relative(root, path): path.read_text(encoding="utf-8") for path in files.references(root)}
    lead = readme[readme.index("\n\n") :].strip().partition("\n\n")[0].splitlines()
    lines = [f"# {files.title(readme)}", "", *(f"> {line}" for line in lead), "", "## Pages", ""]
    lines.append("- [Skill](SKILL.md): the rules that apply to every query; start here")
    lines += [f"- [{files.title(text)}]({name}): {files.read_when(text)}" for name, text in pages.items()]
    lines += ["", "## Optional", "", "- [All pages in one file](llms-full.txt): the skill and every page"]
    lines.append(f"- [Manifest]({files.MANIFEST}): every file of the skill, which this site also serves")
    whole = {files.SKILL: (root / files.SKILL).read_text(encoding="utf-8"), **pages}
    everything = "\n".join(f"<!-- {name} -->\n\n{text}" for name, text in whole.items())
    return {"llms.txt": "\n".join(lines) + "\n", "llms-full.txt": everything}


def api_pages(root: Path) -> dict[str, str]:
    """Return the Markdown of each public package's page, keyed by path. mkdocstrings adds the API without imports."""
    return {f"api/{package}.md": _api_page(root, f"spark_rtm/{package}") for package in API_PACKAGES}


def api_modules(root: Path, folder: str) -> dict[str, Path]:
    """Return the paths of the public modules in a folder, keyed by dotted name."""
    paths = sorted(path for path in (root / folder).glob("*.py") if not path.stem.startswith("_"))
    return {f"{folder.replace('/', '.')}.{path.stem}": path for path in paths}


def _api_page(root: Path, folder: str) -> str:
    known = api_modules(root, folder)
    sources = {name: tree.target(root, "api/page.md", f"../{folder}/{path.name}") for name, path in known.items()}
    contents = [f"- [`{path.stem}`](#{n}) ([source]({sources[n]})): {_about(path)}" for n, path in known.items()]
    lines = [f"# {folder.replace('/', '.')}", "", _about(root / folder / "__init__.py"), "", *contents, ""]
    return API_FRONTMATTER + "\n".join([*lines, *(f"::: {name}\n" for name in known)])


def _about(path: Path) -> str:
    """Return the first paragraph of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n\n")[0].replace("\n", " ")
