from pathlib import Path

import pytest
from playwright.sync_api import Page

from scripts.site import error_finder
from spark_rtm.commands.errors import find, known
from spark_rtm.text.explanations import KnownError
from tests.pages.test_known_errors import SEARCHES, TEXTS, UNUSUAL, trace_of

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]

CONDITION_AND_ADDRESS = """findings => findings.map(one => [
    one.querySelector(".finding__condition").innerText,
    one.querySelector(".finding__where a")?.getAttribute("href") ?? "",
])"""


@pytest.fixture
def finder(phone: Page, address: str) -> Page:
    """Return the page of the form. It is loaded once, because each test replaces the whole text."""
    page = f"{address}references/errors.html"
    if phone.url != page:
        phone.goto(page)
    return phone


def address(each: KnownError) -> str:
    return each.page.removeprefix("references/").replace(".md", ".html")


def found(page: Page, text: str) -> list[tuple[str, str]]:
    page.locator("#trace").fill(text)
    shown = page.locator(".finding:has(code)").evaluate_all(CONDITION_AND_ADDRESS)
    return [(condition, address) for condition, address in shown]


def test_form_finds_what_the_command_finds(finder: Page) -> None:
    """The same errors in the same order, for recorded exceptions, traces of all errors, and descriptions."""
    texts = [*(text["text"] for text in TEXTS), *map(trace_of, known()), *UNUSUAL]
    texts += [text for searches in SEARCHES.values() for text, _ in searches]
    expected = [[(each.condition, address(each)) for each in find(text)] for text in texts]

    assert expected == [found(finder, text) for text in texts]


@pytest.mark.parametrize(
    "html",
    ["Set <img src=x onerror=alert(1)> it.", '<a href="#x" onclick="alert(1)">it</a>', "Set [it](javascript:x)."],
)
def test_fix_with_html_of_its_own_is_refused(tmp_path: Path, html: str) -> None:
    """The error finder would insert any HTML of a fix, so the build ends."""
    (tmp_path / "references").mkdir()
    header = "| condition | cause | fix | evidence |\n|---|---|---|---|\n"
    (tmp_path / "references/errors_on_databricks.md").write_text(f"# Errors on Databricks\n\n{header}")
    (tmp_path / "references/errors_x.md").write_text(f'# X\n\n```python {{raises="A_B"}}\nx\n```\n\n{html}\n')

    with pytest.raises(ValueError, match=r"errors_x.md: a fix contains the HTML"):
        error_finder.entries(tmp_path)


def test_finding_has_no_marks_and_no_empty_lines(finder: Page) -> None:
    for text in TEXTS:
        found(finder, text["text"])
        shown = finder.locator("#findings").inner_text()
        assert [] == [words for words in text["words"].lower().split(" … ") if words not in shown.lower()]
        assert "`" not in shown
        assert "." not in shown.splitlines()


def test_unknown_condition_is_reported_by_name(finder: Page) -> None:
    assert [] == found(finder, "[STREAM_FAILED] [NO_SUCH_CONDITION.AT_ALL] whatever")
    assert "No page explains NO_SUCH_CONDITION.AT_ALL." in finder.locator("#findings").inner_text()
    assert [] == found(finder, "  \n ")
    assert "" == finder.locator("#findings").inner_text()


def test_finding_shows_the_fix_and_links_its_section(finder: Page) -> None:
    found(finder, "[STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED]")
    assert 'always set .outputMode("update")' in finder.locator(".finding").inner_text()

    finder.locator(".finding__where a").click()

    assert finder.url.endswith("errors_at_start.html#output-mode-is-not-update")
    assert "Output mode" in finder.locator("#output-mode-is-not-update").inner_text()
