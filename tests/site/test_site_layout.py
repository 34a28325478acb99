from typing import Any

import pytest
from playwright.sync_api import Page

from scripts.site import layout

pytestmark = pytest.mark.services

NARROW, WIDE = {"width": 360, "height": 740}, {"width": 1300, "height": 900}
PAGES_WITH_NAMES = ("sources_sinks_operators", "runtimes", "errors_at_start", "cluster_and_slots", "tuning")
# Returns each run of letters and digits in code that is spread over more than one line.
BROKEN_NAMES = """() => {
  const broken = [];
  for (const code of document.querySelectorAll("article :not(pre) > code")) {
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const word of node.textContent.matchAll(/[A-Za-z0-9]+/g)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].map((line) => Math.round(line.top)));
        if (tops.size > 1) broken.push(word[0]);
      }
    }
  }
  return broken;
}"""


def visit(page: Page, address: str, name: str, size: Any) -> Page:
    page.set_viewport_size(size)
    page.goto(f"{address}references/{name}.html")
    return page


def test_names_in_code_break_only_between_words(page: Page, address: str) -> None:
    broken = {name: visit(page, address, name, NARROW).evaluate(BROKEN_NAMES) for name in PAGES_WITH_NAMES}

    assert {name: [] for name in PAGES_WITH_NAMES} == broken
    # The check can fail.
    page.add_style_tag(content="article code { word-break: break-all !important; }")
    assert page.evaluate(BROKEN_NAMES)


def test_contents_are_listed_only_where_no_sidebar_lists_them(page: Page, address: str) -> None:
    """A wide screen lists the sections in the sidebar; a phone, or a page without it, shows the list."""
    contents, sidebar = page.locator(".page-contents"), page.locator(".md-sidebar--secondary")

    visit(page, address, "latency", WIDE)
    assert (False, True) == (contents.is_visible(), sidebar.is_visible())
    visit(page, address, "latency", NARROW)
    assert (True, False) == (contents.is_visible(), sidebar.is_visible())
    visit(page, address, "sources_sinks_operators", WIDE)
    assert (True, False) == (contents.is_visible(), sidebar.is_visible())


def test_page_of_tables_uses_the_width_of_the_screen(page: Page, address: str) -> None:
    screen = {"width": 1700, "height": 900}
    prose, tables = (
        visit(page, address, name, screen).evaluate("document.querySelector('article').offsetWidth")
        for name in ("latency", "sources_sinks_operators")
    )

    assert tables > 1.5 * prose


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<code>a.b_c</code>", "<code>a.<wbr>b_<wbr>c</code>"),
        ("<code>transformWithState</code>", "<code>transformWithState</code>"),
        (
            "<code>FileContextBasedCheckpointFileManager</code>",
            "<code>File<wbr>Context<wbr>Based<wbr>Checkpoint<wbr>File<wbr>Manager</code>",
        ),
        ("<pre><code>a.b</code></pre>", "<pre><code>a.b</code></pre>"),
        ("<script>'<code>a.b</code>'</script>", "<script>'<code>a.b</code>'</script>"),
    ],
    ids=["separators", "short name", "long name", "block of code", "data of a form"],
)
def test_names_may_wrap_after_separators_and_before_capitals(html: str, expected: str) -> None:
    """Only long words in inline code get line-break opportunities."""
    assert expected == layout.breakable(html)


def test_wide_table_has_a_note_that_it_scrolls(page: Page, address: str) -> None:
    """On a phone, a note precedes a table that is wider than the screen."""
    visit(page, address, "sources_sinks_operators", NARROW)
    page.wait_for_selector(".md-typeset__scrollwrap.scrolls")
    said = page.evaluate(
        """() => [...document.querySelectorAll(".md-typeset__scrollwrap")].map((wrap) => [
          wrap.scrollWidth > wrap.clientWidth, getComputedStyle(wrap, "::before").content.includes("scroll")])"""
    )

    assert [True, True] in said
    assert all(is_wide == is_said for is_wide, is_said in said)


def test_answers_of_both_engines_have_a_mark_and_words() -> None:
    """The mark repeats the first words; other columns and other answers have no mark."""
    page = (
        "| a | OSS 4.3.0 | Databricks | b |\n|---|---|---|---|\n"
        "| yes | runs | no; see | no |\n| c | at start: `X` | not stated | yes |\n"
    )
    marks = [line.count("✓") - line.count("✗") for line in layout.adapted(page).splitlines()]

    assert [0, 0, 0, -1] == marks
    assert (
        "| c | " + '<span class="mark mark--no" aria-hidden="true">✗</span> at start: `X` | not stated |'
        in layout.adapted(page)
    )
    assert "✓" not in layout.adapted(page.replace("Databricks", "note"))
