"""The live view: plain lines without a terminal, a table with one."""

import io
import time
from dataclasses import replace

from rich.console import Console

from examples.attribution.audit.run_log import RunLog, SourceRecord
from examples.attribution.demo.live_view import LiveView
from examples.attribution.pacing.throttle import Notice
from examples.attribution.traffic.producer import SendLog


def printed(log: RunLog, *, terminal: bool) -> str:
    """Return what the view prints for one state of a run."""
    text = io.StringIO()
    sent = SendLog(started_at=time.time(), records=2, measured_seconds=1, lags_ms=[0.5, 0.7])
    with LiveView(Console(file=text, force_terminal=terminal, width=140, height=50)) as view:
        view.print_line("starting")
        view.start_run(sent, measured_from=0)
        view.update(log)
        view.update(log, is_draining=True)  # too soon to be printed
    return text.getvalue()


def two_records() -> RunLog:
    """Return the log of a correlated record, a waiting one and a rejected one."""
    log = RunLog()
    for n in range(2):
        log.record_source(f"ad-requests:0:{n}", SourceRecord(b"", "normal", 100, 100))
    log.record_event({"src": "ad-requests:0:0", "kind": "request"}, 1, 105)
    result = {"src": "ad-requests:0:0", "result_id": "a", "kind": "request", "code": "accepted", "version": 2}
    log.record_result(result, 112)
    log.record_reject("ad-requests:0:2", "not_json", b"")
    return log


def test_without_terminal_one_plain_line_per_period() -> None:
    """A pipe or a CI log receives whole lines without control characters."""
    lines = printed(two_records(), terminal=False).splitlines()

    assert "starting" == lines[0]
    assert 2 == len(lines)
    counts = "measuring: sent 2, results 1, rejected 1, waiting 1, pending 0, open orders 0, no cap reached, "
    assert f"{counts}p50 12 p99 12 ms" in lines[1]
    assert "\x1b" not in lines[1]


def test_line_before_first_result_shows_no_latency() -> None:
    """A latency is printed only after one was measured."""
    assert "no result yet" in printed(RunLog(), terminal=False)


def test_terminal_table_shows_lag_codes_reasons_and_latencies() -> None:
    """One screen shows the phase, the waiting records, result codes, reject reasons and latencies."""
    text = printed(two_records(), terminal=True)

    facts = ("kafka_to_events ad-requests:0", "accepted", "not_json", "events_to_attributed", "measuring", "Ctrl-C")
    assert [] == [fact for fact in facts if fact not in text]


def test_cap_is_printed_once_and_its_reopening_counted() -> None:
    """Each campaign has one line for its first cap; later notices are only counted."""
    text = io.StringIO()
    view = LiveView(Console(file=text, width=200))
    view.start_run(SendLog(started_at=100), measured_from=0)
    reached = Notice(105_000, "cap_reached", "1f-campaign-3", delivered=8, reserved=2, available=0)
    notices = [reached, replace(reached, code="cap_reopened", available=1), replace(reached, at_ms=109_000)]

    view.print_caps(notices[:1])
    view.print_caps(notices)
    view.update(RunLog())

    lines = text.getvalue().splitlines()
    line = "    5 s cap reached: campaign-3 has 8 delivered and 2 reserved of 10 impressions; "
    line += "its next requests are resold"
    assert line == lines[0]
    assert "caps reached 2, reopened 1" in lines[1]
    assert 2 == len(lines)
