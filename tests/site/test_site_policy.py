"""The content security policy of each page allows exactly the scripts of the site."""

import base64
import hashlib
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.services

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">')
INLINE_SCRIPT = re.compile(r"<script(?![^>]*\ssrc=)(?![^>]*application/json)[^>]*>(.*?)</script>", re.DOTALL)
ALLOWED_HASH = re.compile(r"'(sha256-[^']+)'")

# Resolves to the directives that were violated, when as many attacks as there are here were blocked.
ATTACKS_SCRIPT = """
() => new Promise((resolve) => {
  const blocked = [];
  document.addEventListener("securitypolicyviolation", (event) => {
    blocked.push(event.effectiveDirective);
    if (blocked.length === 6) resolve(blocked);
  });
  const add = (name, properties) => document.body.appendChild(Object.assign(document.createElement(name), properties));
  add("script", { textContent: "window.hasRun = true" });
  document.body.insertAdjacentHTML("beforeend", "<img src='data:,' onerror='window.hasRun = true'>");
  add("img", { src: "http://127.0.0.1:9/" });
  document.head.appendChild(Object.assign(document.createElement("base"), { href: "http://127.0.0.1:9/" }));
  fetch("http://127.0.0.1:9/").catch(() => null);
  add("form", { action: "http://127.0.0.1:9/" }).submit();
})
"""


def hashes(text: str) -> set[str]:
    """Return the hash of each inline script of a page, in the form of a policy."""
    digests = (hashlib.sha256(script.encode()).digest() for script in INLINE_SCRIPT.findall(text))
    return {f"sha256-{base64.b64encode(digest).decode()}" for digest in digests}


@pytest.fixture(scope="module")
def texts(built: Path) -> dict[str, str]:
    """Return the HTML of every page, including the page for missing addresses."""
    return {path.relative_to(built).as_posix(): path.read_text(encoding="utf-8") for path in built.rglob("*.html")}


def test_policy_lists_exactly_the_inline_scripts_of_the_site(texts: dict[str, str]) -> None:
    """`scripts/site/theme/main.html` has the hash of each inline script of the built site, and no other hash."""
    [policy] = {found for text in texts.values() for found in POLICY.findall(text)}

    assert set().union(*map(hashes, texts.values())) == set(ALLOWED_HASH.findall(policy))


def test_policy_comes_before_the_first_script_of_each_page(texts: dict[str, str]) -> None:
    """Every page has one policy, and no script of the page precedes it."""
    without_policy = [name for name, text in texts.items() if len(POLICY.findall(text.partition("<script")[0])) != 1]

    assert [] == without_policy


def test_policy_blocks_what_the_site_does_not_need(browser: Browser, address: str) -> None:
    """The browser blocks inline scripts and handlers, other servers, other bases and forms that are sent."""
    page = browser.new_page()
    page.goto(f"{address}references/errors.html")
    blocked = page.evaluate(ATTACKS_SCRIPT)
    has_run = page.evaluate("window.hasRun")
    page.close()

    directives = ["base-uri", "connect-src", "form-action", "img-src", "script-src-attr", "script-src-elem"]
    assert (directives, None) == (sorted(blocked), has_run)


def test_page_scripts_leave_the_browser_functions_unchanged(phone: Page, address: str) -> None:
    """After loading, a page has the browser's own `open` and `XMLHttpRequest`."""
    phone.goto(address, wait_until="networkidle")

    assert phone.evaluate("open === window.open && /native code/.test(XMLHttpRequest.prototype.open)")
