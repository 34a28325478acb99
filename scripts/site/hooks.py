"""
Build the site from the whole repository. mkdocs calls these functions during the build.

mkdocs does not accept the root of the repository as its documents folder, so `on_files` lists the files instead.
"""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from scripts.pack import files as pack_files
from scripts.pack import version
from scripts.site import card, diagrams, layout, machines, playground, rules, tree
from spark_rtm.text import markdown

ROOT = pack_files.ROOT
EDIT = "edit/main/"
MARK_OF_POLICY = "inline-scripts"
INLINE_SCRIPT = re.compile(r"<script(?![^>]*\ssrc=)(?![^>]*application/json)[^>]*>(.*?)</script>", re.DOTALL)
OTHER_LANGUAGES = "assets/javascripts/lunr/"
# Weights of search results: pages that explain a topic rank above pages that only summarize or list it.
SEARCH_BOOSTS = {
    "README.md": 0.2,
    pack_files.ARCHITECTURE: 0.1,
    pack_files.SKILL: 0.2,
    rules.INDEX: 0.3,
    "references/attribution.md": 0.5,
    "references/control.md": 2.0,
    "references/cluster_and_slots.md": 2.0,
    "references/sources_sinks_operators.md": 3.0,
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set anchor format, diagram renderer and project addresses, and whether pages have a content security policy."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = _anchor
    fences = [{"name": "mermaid", "class": "mermaid", "format": diagrams.figure}]
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = fences
    # `mkdocs serve` adds an inline script that reloads the page after a change; the policy would block this script.
    is_served = (config.site_url or "").startswith(f"http://{config.dev_addr}/")
    project = version.project(ROOT)
    config.extra |= {"has_policy": not is_served, "version": project["version"], "card": card.NAME}
    config.extra["licence"] = tree.target(ROOT, "README.md", "LICENSE")
    urls = project.get("urls", {})
    if "Documentation" in urls:
        config.site_url = config.site_url or f"{urls['Documentation']}/"
    if repository := tree.repository(ROOT):
        config.repo_url, config.edit_uri = repository, EDIT
        config.repo_name = repository.rpartition("/")[2]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the theme's files, and the pages and raw files of the repository."""
    # Keep the files of the theme, except the search's rules for other languages, which have other licences.
    theme = (file for file in files if file.src_dir != config.docs_dir)
    mounted = Files([file for file in theme if not file.src_uri.startswith(OTHER_LANGUAGES)])
    for name, text in machines.in_navigation(ROOT).items():
        file = File.generated(config, name, content=text)
        file.edit_uri = name if (ROOT / name).is_file() else None
        mounted.append(file)
    for name, text in machines.beside_navigation(ROOT).items():
        mounted.append(File.generated(config, name, content=text, inclusion=InclusionLevel.NOT_IN_NAV))
    for name in tree.raw(ROOT):
        if not name.endswith(".md"):
            mounted.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return mounted


def on_page_markdown(text: str, *, page: Page, **_: Any) -> str:
    """Set the page's search weight and width, and the name of the raw file, which is in the same folder."""
    name = page.file.src_uri
    if (ROOT / name).is_file():
        page.meta["raw"] = Path(name).name
    if name in SEARCH_BOOSTS:
        page.meta["search"] = {"boost": SEARCH_BOOSTS[name]}
    if name.startswith("references/") and layout.is_wide(text):
        page.meta["wide"], page.meta["hide"] = True, ["toc"]
    return text


def on_post_page(output: str, **_: Any) -> str:
    """Let long names wrap between words, and allow the theme's inline scripts. The search index keeps names whole."""
    return _with_hashes(layout.breakable(output))


def on_post_template(output: str, *, template_name: str, **_: Any) -> str:
    """Allow the theme's inline scripts on the 404 page, which is a template."""
    return _with_hashes(output) if template_name.endswith(".html") else output


def on_post_build(config: MkDocsConfig) -> None:
    """Write the raw pages, the files for language models, the preview image and the playground."""
    site = Path(config.site_dir)
    # mkdocs would render `spark_rtm/README.md` in place of the page of the folder, so no raw page is listed above.
    for name in tree.raw(ROOT):
        if name.endswith(".md"):
            (site / name).write_bytes((ROOT / name).read_bytes())
    for name, text in machines.texts(ROOT).items():
        (site / name).write_text(text, encoding="utf-8")
    binaries = {card.NAME: card.png(ROOT)} | (playground.contents(ROOT) if playground.is_possible() else {})
    for name, content in binaries.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(content)


def hashes(text: str) -> set[str]:
    """Return the hashes of a page's inline scripts in the format that a content security policy requires."""
    digests = (hashlib.sha256(script.encode()).digest() for script in INLINE_SCRIPT.findall(text))
    return {f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests}


def _with_hashes(text: str) -> str:
    """Return a page with the hashes of its inline scripts inserted into its content security policy."""
    return text.replace(MARK_OF_POLICY, " ".join(sorted(hashes(text))), 1)


def _anchor(title: str, _separator: str) -> str:
    return markdown.headings(f"# {title}")[0].anchor
