from typing import Any

import pytest
from playwright.sync_api import Page

from scripts.site import layout

pytestmark = pytest.mark.services

NARROW, WIDE = {"width": 360, "height": 740}, {"width": 1700, "height": 900}
TABLES, PROSE = "sources_sinks_operators", "latency"
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
# Returns for each table whether it is wider than its place, and whether a note before it says that it scrolls.
SCROLLING_TABLES = """() => [...document.querySelectorAll(".md-typeset__scrollwrap")].map((wrap) => [
  wrap.scrollWidth > wrap.clientWidth, getComputedStyle(wrap, "::before").content.includes("scroll")])"""


def visit(page: Page, address: str, name: str, size: Any) -> tuple[bool, bool]:
    """Load a page, and return whether its contents list and its sidebar with the sections are visible."""
    page.set_viewport_size(size)
    page.goto(f"{address}references/{name}.html")
    return page.locator(".page-contents").is_visible(), page.locator(".md-sidebar--secondary").is_visible()


def test_page_of_tables_fits_a_phone(phone: Page, address: str) -> None:
    """Names in code break only between words, and a note precedes each table that is wider than the screen."""
    assert (True, False) == visit(phone, address, TABLES, NARROW)
    phone.wait_for_selector(".md-typeset__scrollwrap.scrolls")
    notes = phone.evaluate(SCROLLING_TABLES)

    assert [True, True] in notes
    assert all(is_wide == is_said for is_wide, is_said in notes)
    assert [] == phone.evaluate(BROKEN_NAMES)
    # The check can fail.
    phone.add_style_tag(content="article code { word-break: break-all !important; }")
    assert phone.evaluate(BROKEN_NAMES)


def test_wide_screen_has_a_sidebar_or_wide_tables(phone: Page, address: str) -> None:
    """A sidebar replaces the contents list of a page of prose; a page of tables uses the whole width instead."""
    width = "document.querySelector('article').offsetWidth"

    assert (False, True) == visit(phone, address, PROSE, WIDE)
    prose = phone.evaluate(width)
    assert (True, False) == visit(phone, address, TABLES, WIDE)
    assert phone.evaluate(width) > 1.5 * prose


def test_answers_of_both_engines_have_a_mark_and_words() -> None:
    """The mark repeats the first words; other columns and other answers have no mark."""
    page = (
        "| a | OSS 4.3.0 | Databricks | b |\n|---|---|---|---|\n"
        "| yes | runs | no; see | no |\n| c | at start: `X` | not stated | yes |\n"
    )
    marks = [line.count("✓") - line.count("✗") for line in layout.adapted(page).splitlines()]

    assert [0, 0, 0, -1] == marks
    assert '<span class="mark mark--no" aria-hidden="true">✗</span> at start: `X` |' in layout.adapted(page)
