"""What a person sees: plain lines without a terminal, a table with one."""

import io
import time
from dataclasses import replace

from rich.console import Console

from examples.attribution.audit.run_log import Books, SourceRecord
from examples.attribution.demo.live_view import View
from examples.attribution.pacing.throttle import Notice
from examples.attribution.traffic.producer import Sent


def shown(books: Books, *, terminal: bool) -> str:
    """Return what one look at the books prints."""
    text = io.StringIO()
    sent = Sent(started_at=time.time(), records=2, measured_seconds=1, lags_ms=[0.5, 0.7])
    with View(Console(file=text, force_terminal=terminal, width=140, height=50)) as view:
        view.say("starting")
        view.watch(sent, measured_from=0)
        view.show(books)
        view.show(books, draining=True)  # too soon to be shown
    return text.getvalue()


def two_records() -> Books:
    """Return the books of an answered and a waiting record."""
    books = Books()
    for n in range(2):
        books.add_source(f"ad-requests:0:{n}", SourceRecord(b"", "normal", 100, 100))
    books.add_event({"src": "ad-requests:0:0", "kind": "request"}, 1, 105)
    result = {"src": "ad-requests:0:0", "result_id": "a", "kind": "request", "code": "accepted", "version": 2}
    books.add_result(result, 112)
    books.add_reject("ad-requests:0:2", "not_json", b"")
    return books


def test_without_a_terminal_there_is_one_plain_line_per_period() -> None:
    """A pipe or a CI log gets whole lines without control characters."""
    lines = shown(two_records(), terminal=False).splitlines()

    assert "starting" == lines[0]
    assert 2 == len(lines)
    counts = "measuring: sent 2, results 1, rejected 1, waiting 1, pending 0, orders open 0, no cap reached, "
    assert f"{counts}p50 12 p99 12 ms" in lines[1]
    assert "\x1b" not in lines[1]


def test_before_the_first_result_the_line_says_so() -> None:
    """No latency is shown before one was measured."""
    assert "no result yet" in shown(Books(), terminal=False)


def test_on_a_terminal_a_table_shows_lag_codes_reasons_and_latencies() -> None:
    """Everything worth watching is in sight at once."""
    text = shown(two_records(), terminal=True)

    facts = ("kafka_to_events ad-requests:0", "accepted", "not_json", "events_to_attributed", "measuring", "Ctrl-C")
    assert [] == [fact for fact in facts if fact not in text]


def test_a_cap_is_told_once_and_its_reopening_is_counted() -> None:
    """Each campaign has a line of its own at its first cap; what follows stays in the running line."""
    text = io.StringIO()
    view = View(Console(file=text, width=200))
    view.watch(Sent(started_at=100), measured_from=0)
    reached = Notice(105_000, "cap_reached", "1f-campaign-3", delivered=8, reserved=2, available=0)
    notices = [reached, replace(reached, code="cap_reopened", available=1), replace(reached, at_ms=109_000)]

    view.tell(notices[:1])
    view.tell(notices)
    view.show(Books())

    lines = text.getvalue().splitlines()
    assert "    5 s cap reached: campaign-3 has 8 delivered and 2 reserved of 10; its requests are resold" == lines[0]
    assert "caps reached 2, reopened 1" in lines[1]
    assert 2 == len(lines)
