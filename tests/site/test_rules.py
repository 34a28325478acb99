import re
from html import unescape
from pathlib import Path

import pytest

from scripts.site import rules
from spark_rtm import DOCUMENTATION
from spark_rtm.lint.engine import RULES
from tests.site.helpers import Document

pytestmark = pytest.mark.services


def text_of(page: Path) -> str:
    article = page.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", "", article)).split())


def squeezed(text: str) -> str:
    return " ".join(text.replace("`", "").split())


def test_page_of_each_rule_shows_its_docstring(built: Path) -> None:
    """The page shows what the rule checks for, why, where it reports, both examples, and the engines."""
    for rule in RULES:
        shown = squeezed(text_of(built / f"{rules.FOLDER}/{rule.id}.html"))
        parts = (rule.what, rule.why, rule.reported_at, rule.example, rule.use_instead, rule.engine_text)

        assert [] == [part for part in parts if squeezed(part) not in shown]


def test_index_links_the_page_of_each_rule(pages: dict[str, Document]) -> None:
    linked = pages["references/lint_rules.html"].addresses

    assert [] == [rule.id for rule in RULES if f"lint_rules/{rule.id}.html" not in linked]
    assert [] == [r.id for r in RULES if r.help_uri.removeprefix(f"{DOCUMENTATION}/") not in pages]
