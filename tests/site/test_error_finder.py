import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from scripts.pack import files
from scripts.site import error_finder
from spark_rtm.commands.errors import NAME, find

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]

TEXTS = json.loads((files.ROOT / "tests/pages/known_errors.json").read_text(encoding="utf-8"))
ENTRIES = error_finder.entries(files.ROOT)
# Spark wraps most failures and logs further lines around them.
TRACE = """pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query [id = 3f, runId = 9c]
terminated with exception: {failure} SQLSTATE: XXKST
\tat org.apache.spark.sql.execution.streaming.runtime.StreamExecution.run(StreamExecution.scala:349)
Caused by: {failure}
\t... 1 more"""

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


def found(page: Page, text: str) -> list[tuple[str, str]]:
    page.locator("#trace").fill(text)
    shown = page.locator(".finding:has(code)").evaluate_all(CONDITION_AND_ADDRESS)
    return [(condition, address) for condition, address in shown]


def failure(entry: dict[str, Any]) -> str:
    """Return a failure in the form of Spark: the condition or class, then the message with its placeholders filled."""
    condition = entry["condition"]
    message = re.sub(r"<\w+>", "MyThing", "".join(entry["messages"]))
    is_class = any(letter.islower() for letter in condition)
    return f"java.lang.{condition}: {message}" if is_class else f"[{condition}] {message}"


def test_trace_of_each_condition_leads_to_its_fix(finder: Page) -> None:
    wrong = []
    for entry in (one for one in ENTRIES if one["messages"] or NAME.fullmatch(one["condition"])):
        shown = found(finder, TRACE.format(failure=failure(entry)))
        expected = entry["condition"], entry["link"]
        if expected not in shown or {condition for condition, _ in shown} != {entry["condition"]}:
            wrong.append((expected, shown))

    assert [] == wrong


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


@pytest.mark.parametrize(
    ("operator", "link"),
    [
        ("ArrowEvalPythonExec", "errors_in_rows.html#python-udf"),
        ("ForeachBatchSink", "errors_at_start.html#sink-not-in-the-allowlist"),
    ],
)
def test_class_in_the_message_decides_between_sections(finder: Page, operator: str, link: str) -> None:
    text = f"[STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST] {operator} not in the allowlist"

    assert link == found(finder, text)[0][1]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text["name"])
def test_pasted_text_shows_its_cause(finder: Page, text: dict[str, str]) -> None:
    assert text["condition"] in [condition for condition, _ in found(finder, text["text"])]
    shown = finder.locator("#findings").inner_text()
    assert [] == [words for words in text["words"].lower().split(" … ") if words not in shown.lower()]
    assert "`" not in shown
    assert "." not in shown.splitlines()


def test_description_shows_what_the_command_prints(finder: Page) -> None:
    words = "two applications on one checkpoint"

    assert [each.condition for each in find(words)] == [condition for condition, _ in found(finder, words)]


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
