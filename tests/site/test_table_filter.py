from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from scripts.pack import files
from scripts.site import layout
from spark_rtm.text import markdown

pytestmark = pytest.mark.services

NAME = "sources_sinks_operators"
ROWS = sum(len(table.rows) for table in markdown.tables((files.ROOT / f"references/{NAME}.md").read_text("utf-8")))


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    phone = browser.new_page(viewport={"width": 360, "height": 740})
    phone.goto(f"{address}references/{NAME}.html")
    yield phone
    phone.close()


@pytest.fixture(autouse=True)
def _without_filter(page: Page) -> None:
    page.locator("#filter-engine").select_option("")
    page.locator("#filter-text").fill("")


def shown_rows(page: Page) -> list[str]:
    texts: list[str] = page.locator("article tbody tr").evaluate_all(
        "rows => rows.filter(row => row.checkVisibility()).map(row => row.textContent.toLowerCase())"
    )
    return texts


def test_words_in_any_order_select_the_rows(page: Page) -> None:
    assert ROWS == len(shown_rows(page))

    page.locator("#filter-text").fill("kinesis Start")

    rows = shown_rows(page)
    assert ROWS > len(rows) > 0
    assert all("kinesis" in row and "start" in row for row in rows)
    assert page.locator("#filter-count").inner_text().startswith(f"{len(rows)} of {ROWS} rows")
    page.locator("#filter-text").fill("")
    assert ROWS == len(shown_rows(page))


def test_sections_without_a_matching_row_are_hidden(page: Page) -> None:
    """A filter hides whole sections, so the matching rows are close together."""
    page.locator("#filter-text").fill("cloudFiles")

    assert page.locator("h2#sources").is_visible()
    assert not page.locator("h2#joins").is_visible()
    assert not page.locator("h2#how-to-read-the-tables").is_visible()


def test_engine_hides_the_column_of_the_other_engine(page: Page) -> None:
    headers = page.locator("#sources ~ div table th:visible, #sources ~ table th:visible")

    page.locator("#filter-engine").select_option("OSS")
    open_source = headers.all_inner_texts()[:3]
    page.locator("#filter-engine").select_option("Databricks")

    assert ["source", "OSS 4.3.0", "since"] == open_source
    assert ["source", "Databricks", "evidence"] == headers.all_inner_texts()[:3]


def test_link_to_a_hidden_section_shows_it(page: Page) -> None:
    page.locator("#filter-text").fill("cloudFiles")

    page.locator(".page-contents a[href='#joins']").click()

    page.locator("h2#joins").wait_for(state="visible")
    assert "" == page.locator("#filter-text").input_value()


def test_engine_is_offered_only_where_a_table_names_engines() -> None:
    """The form has the choice of an engine if a table has a column for each engine, or a column named engine."""
    for header, is_offered in [("a | OSS 4.3.0 | Databricks", True), ("engine | b", True), ("a | OSS 4.3.0", False)]:
        form = layout.table_filter(f"| {header} |\n|{'---|' * (header.count('|') + 1)}\n| {header} |\n")

        assert is_offered == ("filter-engine" in form), header
