"""The built site as files: the same tree as the repository, with every link right and nothing from elsewhere."""

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from scripts.pack import files
from scripts.site import chart, tree
from scripts.text import markdown
from tests.site.helpers import Document, broken, documents


def test_every_link_and_anchor_of_the_site_exists(built: Path, pages: dict[str, Document]) -> None:
    """A reader who follows any link arrives, at the section that was meant."""
    assert [] == broken(built, pages)


def test_broken_link_and_anchor_would_be_found(tmp_path: Path) -> None:
    """The check can fail."""
    (tmp_path / "a.html").write_text('<h2 id="x"><a href="#x">1</a><a href="#y">2</a><a href="b.html">3</a>')

    assert ["a.html: #y", "a.html: b.html"] == broken(tmp_path, documents(tmp_path))


def test_no_page_loads_anything_from_elsewhere(built: Path) -> None:
    """Fonts, scripts, styles and images are the site's own; only links lead away."""
    loaded = re.compile(
        r"<(?:script|img|iframe|source)[^>]*\ssrc=\"?([^\" >]+)|<link[^>]*\shref=\"?([^\" >]+)|url\(([^)]+)\)"
    )
    foreign = set()
    for path in built.rglob("*.html"):
        found = ("".join(match) for match in loaded.findall(path.read_text(encoding="utf-8")))
        foreign |= {address for address in found if urlsplit(address).netloc}

    assert set() == foreign


def test_no_id_is_there_twice_on_a_page(pages: dict[str, Document]) -> None:
    """A link to a section cannot end at another one."""
    twice = {name: [one for one in document.ids if document.ids.count(one) > 1] for name, document in pages.items()}

    assert {} == {name: ids for name, ids in twice.items() if ids}


def test_raw_files_stand_beside_the_pages(built: Path) -> None:
    """An assistant fetches the same bytes that the repository has, at the same addresses, manifest included."""
    different = [
        name for name in tree.raw(files.ROOT) if (built / name).read_bytes() != (files.ROOT / name).read_bytes()
    ]

    assert [] == different
    listed = {file["path"] for file in json.loads((built / "manifest.json").read_text(encoding="utf-8"))["files"]}
    assert {"SKILL.md", "references/errors.md"} <= listed


def test_every_source_is_shown_with_a_way_back(pages: dict[str, Document]) -> None:
    """Each page that links to a source is linked from it."""
    missing = []
    for name in tree.sources(files.ROOT):
        leads_to = {urljoin(name, address) for address in pages[f"{name}.html"].addresses}
        for page in tree.linked(files.ROOT).get(name, []):
            back = files.relative(files.ROOT, page).replace("README.md", "index.md").replace(".md", ".html")
            missing += [] if back in leads_to else [(name, back)]

    assert [] == missing


def test_anchors_of_the_site_are_those_of_the_repository(pages: dict[str, Document]) -> None:
    """A link to a section works on both."""
    for page in files.references(files.ROOT):
        known = pages[f"references/{page.stem}.html"].ids
        wanted = {heading.anchor for heading in markdown.headings(page.read_text(encoding="utf-8"))}

        assert set() == wanted - set(known)


def test_diagrams_are_drawn_at_build_with_their_text_below(built: Path) -> None:
    """No reader waits for a script, and who cannot see a diagram reads it."""
    for page in tree.pages(files.ROOT):
        sources = [fence for fence in markdown.fences(page.read_text(encoding="utf-8")) if fence.language == "mermaid"]
        name = files.relative(files.ROOT, page).replace("README.md", "index.md").replace(".md", ".html")
        shown = (built / name).read_text(encoding="utf-8")
        texts = [
            unescape(text)
            for text in re.findall(r"<summary>The diagram as text</summary><pre><code>(.*?)</code>", shown, re.DOTALL)
        ]

        assert [fence.code.strip() for fence in sources] == [text.strip() for text in texts]
        assert len(sources) == len(
            re.findall(r'<figure class="diagram">.*?<svg [^>]*role="img".*?</svg>', shown, re.DOTALL)
        )


def test_chart_of_the_home_page_has_the_numbers_of_its_table(built: Path) -> None:
    """The picture and the table of the README cannot differ."""
    readme = (files.ROOT / "README.md").read_text(encoding="utf-8")
    measured = next(heading.line for heading in markdown.headings(readme) if heading.title == "Measured")
    rows = next(table for table in markdown.tables(readme) if table.line > measured).rows
    drawn = re.search(
        r'<figure class="chart">.*?</figure>', (built / "index.html").read_text(encoding="utf-8"), re.DOTALL
    )
    assert drawn
    bars = re.findall(r"<text[^>]*>([\d,]+)</text>", drawn[0])

    assert sorted(cell for _, cells in rows[:2] for cell in cells[1:]) == sorted(bars)


def test_table_without_numbers_cannot_be_drawn() -> None:
    """A README that changes its form fails the build with a remedy, and not the reader."""
    with pytest.raises(ValueError, match="has no row of numbers to draw; put it first"):
        chart.of_readme("# A\n\n## Measured\n\n| a | b |\n|---|---|\n| c | fast |\n")


def test_llms_txt_leads_to_the_raw_text_of_every_page(built: Path) -> None:
    """A model that reads the list finds each page with the reason to open it."""
    links = {link.target: link.text for link in markdown.links((built / "llms.txt").read_text(encoding="utf-8"))}

    assert {files.relative(files.ROOT, page) for page in files.references(files.ROOT)} <= set(links)
    assert [] == [target for target in links if not (built / target).is_file()]


def test_all_pages_are_in_one_file(built: Path) -> None:
    """Who has room for everything reads it in one request."""
    everything = (built / "llms-full.txt").read_text(encoding="utf-8")

    assert all(page.read_text(encoding="utf-8") in everything for page in files.references(files.ROOT))


def test_navigation_has_two_levels(built: Path) -> None:
    """Every page is one of a short list below one of a few titles."""
    home = (built / "index.html").read_text(encoding="utf-8")

    assert {"0", "1"} == set(re.findall(r'<nav class="md-nav[^>]*data-md-level="(\d)"', home))
