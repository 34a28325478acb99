import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from scripts.site.hooks import hashes

pytestmark = pytest.mark.services

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">')
ALLOWED_HASH = re.compile(r"'sha256-[^']+'")
MAX_SCRIPTS_OF_THEME = 3

# Resolves to the violated directives as soon as all of the following attacks have been blocked.
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


def test_policy_lists_exactly_the_inline_scripts_of_each_page(built: Path, pages: dict[str, str]) -> None:
    """Each page has the hashes of its own inline scripts and no other; no page of ours adds a script to the theme's."""
    texts = {**pages, "404.html": (built / "404.html").read_text(encoding="utf-8")}
    # The policy comes before the first script.
    policies = {name: POLICY.findall(text.partition("<script")[0]) for name, text in texts.items()}
    allowed = {name: set(ALLOWED_HASH.findall(policy)) for name, (policy,) in policies.items()}

    assert {name: hashes(text) for name, text in texts.items()} == allowed
    # One script of the theme contains the relative path to the root, so it differs at each depth of folders.
    depths = {name.count("/") for name in texts} | {"404"}
    assert len(set().union(*allowed.values())) <= len(depths) + MAX_SCRIPTS_OF_THEME


def test_policy_blocks_what_the_site_does_not_need(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}references/errors.html")
    blocked = page.evaluate(ATTACKS_SCRIPT)
    has_run = page.evaluate("window.hasRun")
    page.close()

    directives = ["base-uri", "connect-src", "form-action", "img-src", "script-src-attr", "script-src-elem"]
    assert (directives, None) == (sorted(blocked), has_run)
