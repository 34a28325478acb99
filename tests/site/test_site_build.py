import ast
import re
import subprocess
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import pytest
import yaml
from mkdocs.config import load_config
from PIL import Image

from scripts.pack import files, version
from scripts.site import card, hooks, machines, rules, tree
from scripts.site.hooks import OTHER_LANGUAGES
from spark_rtm.lint.engine import RULES
from spark_rtm.text import markdown
from tests.site.helpers import BUILD

pytestmark = pytest.mark.services


def squeezed(text: str) -> str:
    return " ".join(text.replace("`", "").split())


def test_build_fails_for_broken_links_and_pages_outside_the_navigation(tmp_path: Path) -> None:
    """Mkdocs checks the links and anchors of all Markdown with the settings of `mkdocs.yml`."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Home\n\n[a](#gone), [b](gone.md)\n")
    (tmp_path / "docs/lost.md").write_text("# Lost\n")
    validation = yaml.safe_load((files.ROOT / "mkdocs.yml").read_text())["validation"]
    small = {"site_name": "Small", "nav": ["index.md"], "validation": validation}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(small))

    done = subprocess.run(BUILD, cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False)

    assert 1 == done.returncode
    assert [] == [text for text in ("- lost.md", "'#gone'", "'gone.md'") if text not in done.stderr]
    assert f"$(PY) {' '.join(BUILD[1:])}\n" in (files.ROOT / "Makefile").read_text()


def test_pages_have_a_version_licences_and_a_card(built: Path, pages: dict[str, str]) -> None:
    page = pages["references/errors.html"]
    linked = {urljoin("references/errors.html", address) for address in re.findall('href="([^"]+)"', page)}

    assert {"LICENSE", "THIRD_PARTY.html", "https://squidfunk.github.io/mkdocs-material/"} <= linked
    assert f"Version {version.project(files.ROOT)['version']}." in page
    assert "Material Design Icons" in page
    with Image.open(built / card.NAME) as image:
        assert ("PNG", (1200, 630)) == (image.format, image.size)


def test_site_without_an_address_links_to_its_own_copies(built: Path, pages: dict[str, str]) -> None:
    """If no repository address is set, no page links to one, and each linked file of the repository is on the site."""
    assert [] == [name for name, page in pages.items() if "your-organization" in page or 'rel="edit"' in page]
    for name in ("ARCHITECTURE.html", "references/errors.html", "references/lint_rules/sink.html", "api/kafka.html"):
        linked = {urljoin(name, unescape(found)) for found in re.findall('href="([^"#]+)', pages[name])}
        inside = {path for path in linked if not re.match(r"\w+:", path)}

        assert [] == [path for path in inside if not (built / path).is_file()]
        assert [path for path in inside if path.endswith(".py")]


def test_addresses_in_the_project_file_reach_every_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    urls = '[project.urls]\nRepository = "https://a.b/us/spark"\nDocumentation = "https://a.b/c"\n'
    (tmp_path / "pyproject.toml").write_text(f'[project]\nversion = "1"\n{urls}')
    monkeypatch.setattr(hooks, "ROOT", tmp_path)

    config = hooks.on_config(load_config(str(files.ROOT / "mkdocs.yml")))

    assert ("https://a.b/c/", "https://a.b/us/spark", "spark") == (config.site_url, config.repo_url, config.repo_name)
    assert "https://a.b/us/spark/blob/main/tests/x.py" == tree.target(tmp_path, "references/a.md", "../tests/x.py")


def test_api_pages_have_every_public_name(pages: dict[str, str]) -> None:
    for name, text in machines.api_pages(files.ROOT).items():
        listed = machines.api_modules(files.ROOT, f"spark_rtm/{Path(name).stem}")
        wanted = {
            f"{module}.{node.name}"
            for module, path in listed.items()
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        }

        assert [] == [module for module in listed if f"::: {module}\n" not in text]
        assert [] == [one for one in wanted if f'id="{one}"' not in pages[name.replace(".md", ".html")]]


def test_raw_files_are_served_unchanged_and_fonts_are_not(built: Path) -> None:
    """THIRD_PARTY.md states that the site contains no fonts, and lists the parts of all its scripts."""
    assert [] == [n for n in tree.raw(files.ROOT) if (built / n).read_bytes() != (files.ROOT / n).read_bytes()]
    assert {"SKILL.md", "manifest.json", "references/errors.md"} <= set(tree.raw(files.ROOT))
    assert [] == [path.name for suffix in ("woff", "woff2", "ttf") for path in built.rglob(f"*.{suffix}")]
    assert [] == list(built.glob(f"{OTHER_LANGUAGES}*"))


def test_diagrams_are_rendered_at_build_with_their_source(pages: dict[str, str]) -> None:
    found = 0
    for page in files.references(files.ROOT):
        sources = [fence for fence in markdown.fences(page.read_text(encoding="utf-8")) if fence.language == "mermaid"]
        shown = pages[f"references/{page.stem}.html"]
        texts = re.findall(r"<summary>Diagram as text</summary><pre><code>(.*?)</code>", shown, re.DOTALL)
        figures = re.findall(r'<figure class="diagram">.*?<svg [^>]*role="img".*?</svg>', shown, re.DOTALL)
        found += len(figures)

        assert [fence.code.strip() for fence in sources] == [unescape(text).strip() for text in texts]
        assert len(sources) == len(figures)
    assert found


def test_language_models_get_a_list_and_the_text_of_every_page(built: Path) -> None:
    links = {link.target: link.text for link in markdown.links((built / "llms.txt").read_text(encoding="utf-8"))}
    everything = (built / "llms-full.txt").read_text(encoding="utf-8")

    assert {files.relative(files.ROOT, page) for page in files.references(files.ROOT)} <= set(links)
    assert [] == [target for target in links if "://" not in target and not (built / target).is_file()]
    assert all(page.read_text(encoding="utf-8") in everything for page in files.references(files.ROOT))


def test_page_of_each_rule_shows_its_docstring(pages: dict[str, str]) -> None:
    for rule in RULES:
        article = pages[f"{rules.FOLDER}/{rule.id}.html"].partition("<article")[2].partition("</article>")[0]
        shown = squeezed(unescape(re.sub(r"<[^>]+>", "", article)))
        parts = (rule.what, rule.why, rule.reported_at, rule.example, rule.use_instead, rule.engine_text)

        assert [] == [part for part in parts if squeezed(part) not in shown]
        assert f'href="lint_rules/{rule.id}.html"' in pages["references/lint_rules.html"]
