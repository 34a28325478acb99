import re
from dataclasses import replace
from html import unescape
from pathlib import Path

from examples.attribution.audit.latency import Latency
from examples.attribution.audit.run_log import RunLog, SourceRecord
from examples.attribution.demo.beside import Beside
from examples.attribution.demo.html_page import Series, timeline, write_demo
from tests.attribution.demo.reports import report


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of each row of all tables of a page."""
    rows = re.findall(r"<tr>(.*?)</tr>", text)
    return [[unescape(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)] for row in rows]


def log_of(latency_ms: int) -> RunLog:
    log = RunLog()
    for n, latency in enumerate((latency_ms, 10 * latency_ms)):
        src = f"ad-requests:0:{n}"
        log.record_source(src, SourceRecord(b"", "normal", 2_000 + n, 2_000))
        log.record_event({"src": src, "kind": "request"}, 2_000)
        log.record_result({"src": src, "result_id": src, "kind": "request", "code": "x", "version": 2}, 2_000 + latency)
    return log


def test_page_compares_both_modes_and_loads_nothing(tmp_path: Path) -> None:
    """If the first query ran in both modes at the same time, the page has its latencies and curves in both."""
    decoded = Latency("kafka_to_events", 2, 2, 2, 2, 2)
    fast = replace(report("real-time", 4, []), log=log_of(4), beside=Beside(lambda: None, [(26_000, 600)]))
    fast = replace(fast, latencies=[decoded, *fast.latencies])
    slow = replace(report("micro-batch", 900, ["result <x> is missing"], delivered=40), log=log_of(900))

    text = write_demo([fast, slow], {"cores": 2, "java_options": ""}, tmp_path / "build/demo.html").read_text()

    rows = rows_of(text)
    assert ["end to end", "1", "4", "4", "4", "4"] in rows
    assert ["kafka_to_events, micro-batch mode", "1", *["600"] * 4] in rows
    assert [["11", "1"], ["40", "30"]] == [row[2:4] for row in rows if row[0] == "campaign-0"]
    assert ["result <x> is missing"] in rows
    assert ["cores", "2"] == rows[-1]
    assert '<p class="good">real-time mode: 0 differences' in text
    assert '<p class="bad">micro-batch mode: 1 differences' in text
    assert "both modes side by side: p50 2 ms and 600 ms (300x)" in text
    assert "<title>kafka_to_events: 250 ms</title>" in text
    assert ["real-time, decode", "micro-batch, decode", "micro-batch"] == re.findall(r">([\w, -]+): p50, and", text)
    assert [] == re.findall(r"https?://|url\(|@import|<(?:script|link|img|iframe|object)| (?:src|href)=", text)


def test_timeline_shows_the_gap_that_a_fault_has_left() -> None:
    """A fault without a recovery lasts to the end."""
    series = Series("real-time", {0: (1, 10), 10: (1, 10), 100: (1, 10)})
    svg = timeline([series], [("kill-broker", 10, 50), ("kill-driver", 90, None)])

    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', svg)]
    assert [452.0, 90.4] == widths
    assert ">kill-broker: 50.0 s</text>" in svg
    assert ">kill-driver: no recovery</text>" in svg
