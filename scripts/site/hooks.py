"""
Mount the repository as it is: mkdocs calls these functions while it builds.

mkdocs may not have the root as its folder of documents, so its list of files is made here.
"""

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from scripts.pack import files as pack_files
from scripts.site import diagrams, machines, measured, page, tree
from scripts.text import markdown

ROOT = pack_files.ROOT
# Some pages mention everything in short, and others explain it.
BOOSTS = {
    "README.md": 0.2,
    pack_files.SKILL: 0.2,
    "references/lint_rules.md": 0.3,
    "references/sources_sinks_operators.md": 3.0,
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give anchors the names that links in the repository use, and diagrams a renderer."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = _anchor
    fences = [{"name": "mermaid", "class": "mermaid", "format": diagrams.figure}]
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = fences
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace what mkdocs found in one folder by pages, sources, folders and raw files of the whole repository."""
    for cached in (tree.linked, tree.sources, tree.folders):
        cached.cache_clear()
    # What the theme brings stays.
    mounted = Files([file for file in files if file.src_dir != config.docs_dir])
    texts = {pack_files.relative(ROOT, path): path.read_text(encoding="utf-8") for path in tree.pages(ROOT)}
    texts |= {f"{name}.md": tree.source_page(ROOT, name) for name in tree.sources(ROOT)}
    texts |= {f"{folder}/index.md": tree.folder_page(ROOT, folder) for folder in tree.folders(ROOT)}
    texts[f"{tree.MEASURED}/index.md"] = measured.page(ROOT)
    for name, text in texts.items():
        mounted.append(File.generated(config, name, content=page.for_site(ROOT, name, text)))
    for name in tree.raw(ROOT):
        if name not in texts:
            mounted.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return mounted


def on_page_markdown(text: str, *, page: Page, **_: Any) -> str:
    """Tell the theme where the raw file of the page is: beside it."""
    name = page.file.src_uri
    source = name.removesuffix(".md")
    if (ROOT / name).is_file() or (ROOT / source).is_file():
        page.meta["raw"] = Path(name if (ROOT / name).is_file() else source).name
    if name in BOOSTS:
        page.meta["search"] = {"boost": BOOSTS[name]}
    return text


def on_post_build(config: MkDocsConfig) -> None:
    """Put the raw pages beside the rendered ones, and write what machines read first."""
    site = Path(config.site_dir)
    for path in tree.pages(ROOT):
        raw = site / pack_files.relative(ROOT, path)
        raw.write_bytes(path.read_bytes())
    for name, text in machines.texts(ROOT).items():
        (site / name).write_text(text, encoding="utf-8")


def _anchor(title: str, _separator: str) -> str:
    return markdown.headings(f"# {title}")[0].anchor
