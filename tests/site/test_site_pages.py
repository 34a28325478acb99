"""Every page in a browser: it loads without an error, fits a phone, keeps still, and can be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Response

from scripts.pack import files
from scripts.site import tree
from tests.site.helpers import Document

HOME_BYTES = 500_000
# One of each kind; the rest have the same parts.
KINDS = (
    "index.html",
    "references/errors_at_start.html",
    "references/slot_calculator.html",
    "references/error_finder.html",
    "references/measured/index.html",
    "references/tuning.html",
)
WIDTH = """
async (address) => {
  const page = new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");
  document.querySelector("article").replaceWith(page.querySelector("article"));
  return document.documentElement.scrollWidth;
}
"""
STILL = KINDS[:3]
SHIFTS = """
window.shifts = 0;
new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.shifts += entry.value; })
  .observe({ type: "layout-shift", buffered: true });
"""


class Visit:
    """A page that is watched while it is visited."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        """Watch everything that a visitor does not see."""
        self.page: Page = context.new_page()
        self.address, self.complaints = address, list[str]()
        self.bytes = 0
        self.page.on("console", lambda message: self._complain(message.text, message.type in ("error", "warning")))
        self.page.on("pageerror", lambda error: self._complain(str(error), True))
        # What is still loading when the visitor leaves is aborted, and no failure.
        self.page.on(
            "requestfailed", lambda request: self._complain(request.url, request.failure != "net::ERR_ABORTED")
        )
        self.page.on("response", lambda answer: self._complain(f"{answer.status} {answer.url}", answer.status >= 400))
        self.page.on(
            "request", lambda request: self._complain(request.url, not request.url.startswith((address, "data:")))
        )

    def to(self, name: str) -> "Visit":
        """Go to a page of the site."""
        self.page.goto(self.address + name)
        return self

    def _complain(self, what: str, is_bad: bool) -> None:
        if is_bad:
            self.complaints.append(f"{self.page.url}: {what}")


@pytest.fixture
def phone_visit(browser: Browser, address: str) -> Iterator[Visit]:
    """Yield a visit with a narrow phone."""
    context = browser.new_context(viewport={"width": 360, "height": 740})
    yield Visit(context, address)
    context.close()


def test_every_page_loads_without_complaint_and_fits_a_phone(phone_visit: Visit, pages: dict[str, Document]) -> None:
    """No page logs an error, asks another server, or scrolls sideways at 360 pixels."""
    widths = {
        name: phone_visit.to(name).page.evaluate("document.documentElement.scrollWidth")
        for name in pages
        if not is_source(name)
    }
    # A source differs from the next in its text alone, so the texts take turns in one page.
    phone_visit.to("examples/attribution/settings.py.html")
    widths |= {name: phone_visit.page.evaluate(WIDTH, phone_visit.address + name) for name in pages if is_source(name)}

    assert [] == phone_visit.complaints
    assert {} == {name: width for name, width in widths.items() if width > 360}


def is_source(name: str) -> bool:
    """Tell the page of a source, which is made by one template."""
    return Path(name.removesuffix(".html")).suffix != ""


def test_error_of_a_page_would_be_found(phone_visit: Visit) -> None:
    """The check can fail."""
    phone_visit.to("index.html").page.evaluate("console.error('broken')")
    phone_visit.page.evaluate("fetch('nowhere.json').then(() => null)")

    assert ["broken", "404"] == [word for word in ("broken", "404") if word in "".join(phone_visit.complaints)]


@pytest.mark.parametrize(
    ("scheme", "rules"), [("light", ["wcag2a", "wcag2aa"]), ("dark", ["color-contrast"])], ids=["light", "dark"]
)
def test_text_can_be_read_in_both_schemes(browser: Browser, address: str, scheme: Any, rules: list[str]) -> None:
    """Contrast is at least that of WCAG AA, and in the light scheme, whose marks are the same, all else is too."""
    context = browser.new_context(color_scheme=scheme)
    visit = Visit(context, address)
    found = []
    for name in KINDS:
        options = {"runOnly": rules, "resultTypes": ["violations"]}
        answer = Axe().run(visit.to(name).page, options=options).response
        found += [
            f"{name}: {violation['id']}: {node['html'][:120]} {node['failureSummary'][-200:]}"
            for violation in answer["violations"]
            for node in violation["nodes"]
        ]
    context.close()

    assert [] == found


def test_pages_keep_still_while_they_load(browser: Browser, address: str) -> None:
    """Nothing that is being read moves away."""
    context = browser.new_context(viewport={"width": 360, "height": 740})
    context.add_init_script(SHIFTS)
    visit = Visit(context, address)
    shifts = {}
    for name in STILL:
        visit.to(name).page.wait_for_load_state("networkidle")
        shifts[name] = visit.page.evaluate("window.shifts")
    context.close()

    assert {} == {name: shift for name, shift in shifts.items() if shift > 0.01}


def test_home_is_light(browser: Browser, address: str) -> None:
    """Everything that the home page loads weighs less than half a megabyte, without compression."""
    page = browser.new_page()
    answers: list[Response] = []
    page.on("response", lambda answer: answers.extend([answer]))
    page.goto(address, wait_until="networkidle")
    weight = sum(len(answer.body()) for answer in answers if answer.ok)
    page.close()

    assert HOME_BYTES > weight > HOME_BYTES / 10


def test_page_is_copied_as_markdown(browser: Browser, address: str) -> None:
    """The button puts into the clipboard what the repository has."""
    context = browser.new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    visit = Visit(context, address).to("references/errors.html")
    visit.page.get_by_role("button", name="Copy page").click()
    visit.page.get_by_role("button", name="Copied").wait_for()
    copied = visit.page.evaluate("navigator.clipboard.readText()")
    context.close()

    assert (files.ROOT / "references/errors.md").read_text(encoding="utf-8") == copied


def test_every_chart_has_its_numbers_beside_it(phone_visit: Visit) -> None:
    """Who cannot see a chart reads its table."""
    page = phone_visit.to(f"{tree.MEASURED}/index.html").page
    charts = sorted((files.ROOT / tree.MEASURED).glob("*.svg"))

    assert [chart.name for chart in charts] == [image.get_attribute("src") for image in page.locator("main img").all()]
    assert all(page.locator(f"summary:has-text('Numbers of {chart.stem}')").count() > 0 for chart in charts)


def test_scheme_is_switched_and_kept(phone_visit: Visit) -> None:
    """A choice of light or dark holds on the next page."""
    page = phone_visit.to("index.html").page
    page.get_by_title("Switch to dark mode").click()

    phone_visit.to("references/errors.html")

    assert "slate" == page.locator("body").get_attribute("data-md-color-scheme")
