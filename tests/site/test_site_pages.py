import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Response

from scripts.pack import files
from scripts.site import redirects, tree

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]

MAX_HOME_BYTES = 500_000
# One page of each kind; the other pages consist of the same parts.
SAMPLE_PAGES = (
    "index.html",
    "references/errors.html",
    "references/cluster_and_slots.html",
    "api/sinks.html",
    "references/measured/index.html",
    "references/lint_rules.html",
    "references/growth.html",
)
# Shows the text of another page in the loaded page, and returns the width of the result.
WIDTH_SCRIPT = """
async (address) => {
  const page = new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");
  document.querySelector("article").replaceWith(page.querySelector("article"));
  return document.documentElement.scrollWidth;
}
"""
OUTSIDE_SCRIPT = """() => {
  const chart = document.querySelector("svg").getBoundingClientRect();
  return [...document.querySelectorAll("svg g[id^=text]")].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.right > chart.right + 1 || box.left < chart.left - 1;
  }).map((text) => text.textContent.trim());
}"""
SHIFTS_SCRIPT = """
window.shifts = 0;
new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.shifts += entry.value; })
  .observe({ type: "layout-shift", buffered: true });
"""


class Visit:
    def __init__(self, context: BrowserContext, address: str) -> None:
        self.page: Page = context.new_page()
        self.address = address
        self.problems: list[str] = []
        self.page.on("console", lambda message: self._record(message.text, message.type in ("error", "warning")))
        self.page.on("pageerror", lambda error: self._record(str(error), True))
        # Requests that are still running when the visit moves on are aborted, which is not a failure.
        self.page.on("requestfailed", lambda request: self._record(request.url, request.failure != "net::ERR_ABORTED"))
        self.page.on(
            "response", lambda response: self._record(f"{response.status} {response.url}", response.status >= 400)
        )
        self.page.on(
            "request", lambda request: self._record(request.url, not request.url.startswith((address, "data:")))
        )

    def to(self, name: str) -> Page:
        self.page.goto(self.address + name)
        return self.page

    def _record(self, event: str, is_problem: bool) -> None:
        if is_problem:
            self.problems.append(f"{self.page.url}: {event}")


@pytest.fixture
def phone_visit(browser: Browser, address: str) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 360, "height": 740})
    context.add_init_script(SHIFTS_SCRIPT)
    yield Visit(context, address)
    context.close()


def test_pages_fit_a_phone_and_load_without_errors(phone_visit: Visit, pages: dict[str, str]) -> None:
    """Nothing moves while a page loads. The other pages differ in their text only, which one page shows in turn."""
    widths, shifts = {}, {}
    for name in SAMPLE_PAGES:
        widths[name] = phone_visit.to(name).evaluate("document.documentElement.scrollWidth")
        shifts[name] = phone_visit.page.evaluate("window.shifts")
    moved = {old.replace(".md", ".html") for old in redirects.pages(files.ROOT)}
    others = [name for name in pages if name not in {*moved, *SAMPLE_PAGES}]
    phone_visit.to("references/tuning.html")
    widths |= {n: phone_visit.page.evaluate(WIDTH_SCRIPT, phone_visit.address + n) for n in others}

    assert [] == phone_visit.problems
    assert {} == {name: width for name, width in widths.items() if width > 360}
    assert {} == {name: shift for name, shift in shifts.items() if shift > 0.01}


@pytest.mark.parametrize("old", ["error_finder", "chaos", "lint_rules_jobs"])
def test_old_address_sends_the_browser_to_the_new_place(phone_visit: Visit, old: str) -> None:
    """Its page also contains a link to the new place, which mkdocs checks."""
    phone_visit.page.goto(f"{phone_visit.address}references/{old}.html", wait_until="commit")
    new = redirects.REDIRECTS[old].replace(".md", ".html")
    # Closing the browser's context while a page loads can block for good.
    phone_visit.page.wait_for_url(f"{phone_visit.address}references/{new}")

    assert [] == phone_visit.problems
    assert f"]({redirects.REDIRECTS[old]})" in redirects.pages(files.ROOT)[f"references/{old}.md"]


def test_error_of_a_page_would_be_found(phone_visit: Visit) -> None:
    phone_visit.to("index.html").evaluate("console.error('broken')")
    phone_visit.page.evaluate("fetch('nowhere.json').then(() => null)")

    assert ["broken", "404"] == [word for word in ("broken", "404") if word in "".join(phone_visit.problems)]


@pytest.mark.parametrize(
    ("scheme", "rules", "names"),
    [("light", ["wcag2a", "wcag2aa"], SAMPLE_PAGES[:4]), ("dark", ["color-contrast"], SAMPLE_PAGES[:3:2])],
    ids=["light", "dark"],
)
def test_pages_meet_wcag_aa_in_both_schemes(
    browser: Browser, address: str, scheme: Any, rules: list[str], names: tuple[str, ...]
) -> None:
    """Both color schemes meet the contrast of WCAG AA; the light scheme, with the same tags, meets all its rules."""
    context = browser.new_context(color_scheme=scheme)
    visit = Visit(context, address)
    violations = []
    for name in names:
        options = {"runOnly": rules, "resultTypes": ["violations"]}
        report = Axe().run(visit.to(name), options=options).response
        violations += [
            f"{name}: {violation['id']}: {node['html'][:120]} {node['failureSummary'][-200:]}"
            for violation in report["violations"]
            for node in violation["nodes"]
        ]
    context.close()

    assert [] == violations


def test_home_page_loads_less_than_half_a_megabyte(browser: Browser, address: str) -> None:
    """The page's resources total less than 500,000 bytes without compression; scripts replace no browser function."""
    page = browser.new_page()
    responses: list[Response] = []
    page.on("response", lambda response: responses.extend([response]))
    page.goto(address, wait_until="networkidle")
    total_bytes = sum(len(response.body()) for response in responses if response.ok)
    is_native = page.evaluate("open === window.open && /native code/.test(XMLHttpRequest.prototype.open)")
    page.close()

    assert MAX_HOME_BYTES > total_bytes > MAX_HOME_BYTES / 10
    assert is_native


def test_copy_button_copies_the_raw_markdown(browser: Browser, address: str) -> None:
    context = browser.new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    page = Visit(context, address).to("references/errors.html")
    page.get_by_role("button", name="Copy page").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    context.close()

    assert (files.ROOT / "references/errors.md").read_text(encoding="utf-8") == copied


def test_missing_page_leads_on(built: Path) -> None:
    text = (built / "404.html").read_text(encoding="utf-8")
    body = text[text.index("<article") : text.index("</article>")]
    # The links begin with the path of the site's address, or with a slash while the site has no address.
    places = re.findall(r'href="/([^"]+)"', body)

    assert "No such page" in body
    assert {"references/errors.html", "index.html"} <= set(places)
    assert [] == [place for place in places if not (built / place).is_file()]
    assert all(address.startswith("/") for address in re.findall(r'rel="stylesheet" href="([^"]+)"', text))


def test_no_text_of_a_chart_is_cut_off(phone_visit: Visit) -> None:
    outside = {}
    for chart in (files.ROOT / tree.MEASURED_DIR).glob("*.svg"):
        phone_visit.page.set_content(chart.read_text(encoding="utf-8"))
        outside[chart.name] = phone_visit.page.evaluate(OUTSIDE_SCRIPT)

    assert len(outside) > 5
    assert {} == {name: texts for name, texts in outside.items() if texts}
