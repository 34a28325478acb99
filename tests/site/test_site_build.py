import ast
import json
import re
import subprocess
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
import yaml
from PIL import Image

from scripts.pack import files, version
from scripts.site import api, machines, tree
from scripts.site.hooks import OTHER_LANGUAGES
from spark_rtm.text import markdown
from tests.site.helpers import BUILD, Document, broken, documents

pytestmark = pytest.mark.services

SITE = f"{version.project(files.ROOT)['urls']['Documentation']}/"


def test_every_link_and_anchor_of_the_site_exists(built: Path, pages: dict[str, Document]) -> None:
    assert [] == broken(built, pages)


def test_command_of_make_site_fails_for_a_page_outside_the_navigation(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("index", "lost"):
        (tmp_path / "docs" / f"{name}.md").write_text(f"# {name}\n")
    validation = yaml.safe_load((files.ROOT / "mkdocs.yml").read_text())["validation"]
    small = {"site_name": "Small", "nav": ["index.md"], "validation": validation}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(small))

    done = subprocess.run(BUILD, cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False)

    assert 1 == done.returncode
    assert "- lost.md" in done.stderr
    assert f"$(PY) {' '.join(BUILD[1:])}\n" in (files.ROOT / "Makefile").read_text()


def test_broken_link_and_anchor_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<h2 id="x"><a href="#x">1</a><a href="#y">2</a><a href="b.html">3</a>')

    assert ["a.html: #y", "a.html: b.html"] == broken(tmp_path, documents(tmp_path))


def test_no_page_loads_external_resources(built: Path) -> None:
    loaded = re.compile(
        r"<(?:script|img|iframe|source)[^>]*\ssrc=\"?([^\" >]+)|<link[^>]*\shref=\"?([^\" >]+)|url\(([^)]+)\)"
    )
    external = set()
    for path in built.rglob("*.html"):
        addresses = ("".join(match) for match in loaded.findall(path.read_text(encoding="utf-8")))
        external |= {address for address in addresses if urlsplit(address).netloc and not address.startswith(SITE)}

    assert set() == external
    # THIRD_PARTY.md states that the site contains no fonts, and lists the parts of all its scripts.
    assert [] == [path.name for suffix in ("woff", "woff2", "ttf") for path in built.rglob(f"*.{suffix}")]
    assert [] == list(built.glob(f"{OTHER_LANGUAGES}*"))


def test_pages_have_an_address_an_edit_link_a_version_and_a_card(built: Path) -> None:
    """Each page contains its canonical URL, an edit link to its source, the version and a preview picture."""
    project = version.project(files.ROOT)
    page = (built / "references/errors.html").read_text(encoding="utf-8")
    edit = f"{project['urls']['Repository']}/edit/main/references/errors.md"

    assert f'<link rel="canonical" href="{SITE}references/errors.html">' in page
    assert f'href="{edit}"' in page
    assert f"Version {project['version']}." in page
    [address] = re.findall(r'<meta property="og:image" content="([^"]+)">', page)
    with Image.open(built / address.removeprefix(SITE)) as card:
        assert ("PNG", (1200, 630)) == (card.format, card.size)
    assert f"<loc>{SITE}references/errors.html</loc>" in (built / "sitemap.xml").read_text(encoding="utf-8")


def test_footer_of_every_page_links_licence_and_third_parties(built: Path, pages: dict[str, Document]) -> None:
    theme = "https://squidfunk.github.io/mkdocs-material/"
    linked = {name: {urljoin(name, address) for address in document.addresses} for name, document in pages.items()}

    assert [] == [
        name for name, addresses in linked.items() if not {"LICENSE.html", "THIRD_PARTY.html", theme} <= addresses
    ]
    assert "Material Design Icons" in (built / "references/errors.html").read_text(encoding="utf-8")


def test_api_pages_have_every_public_name(pages: dict[str, Document]) -> None:
    for name, text in api.pages(files.ROOT).items():
        listed = api.modules(files.ROOT, f"spark_rtm/{Path(name).stem}")
        wanted = {
            f"{module}.{node.name}"
            for module, path in listed.items()
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        }

        assert [] == [module for module in listed if f"::: {module}\n" not in text]
        assert set() == wanted - set(pages[name.replace(".md", ".html")].ids)


def test_pages_can_be_written_for_another_generator(tmp_path: Path) -> None:
    assert machines.write(files.ROOT, tmp_path) > len(tree.sources(files.ROOT))

    configured = (files.ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", configured, re.MULTILINE)
    assert len(listed) > 40
    assert [] == [name for name in listed if not (tmp_path / name).is_file()]
    targets = {
        page.parent / link.target.partition("#")[0]
        for page in tmp_path.rglob("*.md")
        for link in markdown.links(page.read_text(encoding="utf-8"))
        if not re.match(r"#|https?:|mailto:", link.target)
    }
    assert [] == [str(target) for target in targets if not target.exists()]


def test_ids_are_unique_on_each_page(pages: dict[str, Document]) -> None:
    """No page contains the same id twice, so links to sections are unambiguous."""
    twice = {name: [one for one in document.ids if document.ids.count(one) > 1] for name, document in pages.items()}

    assert {} == {name: ids for name, ids in twice.items() if ids}


def test_raw_files_are_served_unchanged(built: Path) -> None:
    different = [
        name for name in tree.raw(files.ROOT) if (built / name).read_bytes() != (files.ROOT / name).read_bytes()
    ]

    assert [] == different
    listed = {file["path"] for file in json.loads((built / "manifest.json").read_text(encoding="utf-8"))["files"]}
    assert {"SKILL.md", "references/errors.md"} <= listed


def test_diagrams_are_rendered_at_build_with_their_source(built: Path) -> None:
    for page in tree.pages(files.ROOT):
        sources = [fence for fence in markdown.fences(page.read_text(encoding="utf-8")) if fence.language == "mermaid"]
        name = files.relative(files.ROOT, page).replace("README.md", "index.md").replace(".md", ".html")
        shown = (built / name).read_text(encoding="utf-8")
        texts = [
            unescape(text)
            for text in re.findall(r"<summary>Diagram as text</summary><pre><code>(.*?)</code>", shown, re.DOTALL)
        ]

        assert [fence.code.strip() for fence in sources] == [text.strip() for text in texts]
        assert len(sources) == len(
            re.findall(r'<figure class="diagram">.*?<svg [^>]*role="img".*?</svg>', shown, re.DOTALL)
        )


def test_llms_txt_links_the_raw_text_of_every_page(built: Path) -> None:
    links = {link.target: link.text for link in markdown.links((built / "llms.txt").read_text(encoding="utf-8"))}

    assert {files.relative(files.ROOT, page) for page in files.references(files.ROOT)} <= set(links)
    assert [] == [target for target in links if not (built / target).is_file()]


def test_all_pages_are_in_one_file(built: Path) -> None:
    everything = (built / "llms-full.txt").read_text(encoding="utf-8")

    assert all(page.read_text(encoding="utf-8") in everything for page in files.references(files.ROOT))


def test_navigation_has_two_levels(built: Path) -> None:
    home = (built / "index.html").read_text(encoding="utf-8")

    assert {"0", "1"} == set(re.findall(r'<nav class="md-nav[^>]*data-md-level="(\d)"', home))
