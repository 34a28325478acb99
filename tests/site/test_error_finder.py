"""The error finder, given what a person would paste."""

import re

import pytest
from playwright.sync_api import Page

from scripts.pack import files
from scripts.site import error_finder

ENTRIES = error_finder.entries(files.ROOT)
# Spark wraps most failures, and logs more around them.
TRACE = """pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query [id = 3f, runId = 9c]
terminated with exception: {failure} SQLSTATE: XXKST
\tat org.apache.spark.sql.execution.streaming.runtime.StreamExecution.run(StreamExecution.scala:349)
Caused by: {failure}
\t... 1 more"""


@pytest.fixture
def finder(phone: Page, address: str) -> Page:
    """Return the finder's page."""
    phone.goto(f"{address}references/error_finder.html")
    return phone


def found(page: Page, text: str) -> list[tuple[str, str]]:
    """Paste a text and return condition and address of each finding."""
    page.locator("#trace").fill(text)
    findings = page.locator(".finding:has(code)").all()
    return [
        (one.locator(".finding__condition").inner_text(), one.locator(".finding__where a").get_attribute("href") or "")
        for one in findings
    ]


def failure(entry: error_finder.Entry) -> str:
    """Return a failure as Spark words it: its message with values, behind the condition or the class."""
    condition = entry["condition"]
    said = re.sub(r"<\w+>", "MyThing", "".join(entry["messages"]))
    is_class = any(letter.islower() for letter in condition)
    return f"java.lang.{condition}: {said}" if is_class else f"[{condition}] {said}"


def test_trace_of_each_condition_leads_to_its_fix(finder: Page) -> None:
    """Whatever a page provokes is found in a trace, and only sections about that condition are shown."""
    astray = []
    for entry in ENTRIES:
        shown = found(finder, TRACE.format(failure=failure(entry)))
        wanted = entry["condition"], entry["link"]
        if wanted not in shown or {condition for condition, _ in shown} != {entry["condition"]}:
            astray.append((wanted, shown))

    assert [] == astray


@pytest.mark.parametrize(
    ("operator", "link"),
    [
        ("ArrowEvalPythonExec", "errors_in_rows.html#python-udf"),
        ("SortMergeJoinExec", "errors_while_running.html#operator-not-in-the-allowlist"),
        ("ForeachBatchSink", "errors_at_start.html#sink-not-in-the-allowlist"),
    ],
)
def test_class_in_the_message_decides_between_sections(finder: Page, operator: str, link: str) -> None:
    """One condition has three causes; the first answer is that of the operator named."""
    text = f"[STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST] {operator} not in the allowlist"

    assert link == found(finder, text)[0][1]


def test_message_without_a_condition_is_found(finder: Page) -> None:
    """What a log shows of a message is enough."""
    text = "The output mode Append is not supported. To work around this limitation, set the output mode to Update."

    assert ["STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED"] == [condition for condition, _ in found(finder, text)]


def test_unknown_condition_is_named_and_leads_on(finder: Page) -> None:
    """The finder does not guess; it says what it read and where symptoms are."""
    assert [] == found(finder, "[STREAM_FAILED] [NO_SUCH_CONDITION.AT_ALL] whatever")
    assert "No page provokes NO_SUCH_CONDITION.AT_ALL." in finder.locator("#findings").inner_text()


def test_empty_text_shows_nothing(finder: Page) -> None:
    """Nothing pasted, nothing found."""
    assert [] == found(finder, "  \n ")
    assert "" == finder.locator("#findings").inner_text()


def test_finding_shows_the_fix_and_leads_to_its_section(finder: Page) -> None:
    """The fix is readable at once, and its link leads to the fence that proves it."""
    found(finder, "[STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED]")
    assert 'always set .outputMode("update")' in finder.locator(".finding").inner_text()

    finder.locator(".finding__where a").click()

    assert finder.url.endswith("errors_at_start.html#output-mode-is-not-update")
    assert "Output mode" in finder.locator("#output-mode-is-not-update").inner_text()
