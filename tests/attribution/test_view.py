"""What a person sees: plain lines without a terminal, a table with one."""

import io
import time
from collections import Counter, deque
from typing import Literal

import pytest
from rich.console import Console

from examples.attribution.latency import Latency
from examples.attribution.ledger import Ledger, SourceRecord
from examples.attribution.pipeline import Report
from examples.attribution.reconciliation import Reconciliation
from examples.attribution.traffic import Sent
from examples.attribution.view import View, show_comparison, show_report
from examples.settings import Settings
from examples.sinks.metrics import Metrics


def shown(ledger: Ledger, *, terminal: bool) -> str:
    """Return what one look at the ledger prints."""
    text = io.StringIO()
    sent = Sent(started_at=time.time(), records=2, measured_seconds=1, lags_ms=[0.5, 0.7])
    with View(Console(file=text, force_terminal=terminal, width=140, height=50)) as view:
        view.say("starting")
        view.watch(sent, measured_from=0)
        view.show(ledger)
        view.show(ledger, draining=True)  # too soon to be shown
    return text.getvalue()


def two_records() -> Ledger:
    """Return the books of an answered and a waiting record."""
    ledger = Ledger()
    for n in range(2):
        ledger.add_source(f"ad-requests:0:{n}", SourceRecord(b"", "normal", 100, 100))
    ledger.add_event({"src": "ad-requests:0:0", "kind": "request"}, 1, 105)
    result = {"src": "ad-requests:0:0", "result_id": "a", "kind": "request", "code": "accepted", "version": 2}
    ledger.add_result(result, 112)
    ledger.add_reject("ad-requests:0:2", "not_json", b"")
    return ledger


def test_without_a_terminal_there_is_one_plain_line_per_period() -> None:
    """A pipe or a CI log gets whole lines without control characters."""
    lines = shown(two_records(), terminal=False).splitlines()

    assert "starting" == lines[0]
    assert 2 == len(lines)
    assert "measuring: sent 2, results 1, rejected 1, waiting 1, p50 12 p99 12 ms" in lines[1]
    assert "\x1b" not in lines[1]


def test_before_the_first_result_the_line_says_so() -> None:
    """No latency is shown before one was measured."""
    assert "no result yet" in shown(Ledger(), terminal=False)


def test_on_a_terminal_a_table_shows_lag_codes_reasons_and_latencies() -> None:
    """Everything worth watching is in sight at once."""
    text = shown(two_records(), terminal=True)

    facts = ("kafka_to_events ad-requests:0", "accepted", "not_json", "events_to_attributed", "measuring", "Ctrl-C")
    assert [] == [fact for fact in facts if fact not in text]


def report(trigger: Literal["real-time", "micro-batch"], milliseconds: int, differences: list[str]) -> Report:
    """Return a report with one latency in every column."""
    sink = Metrics(flushed=4, flushes=3, oldest_ms=deque([2.0, 5.0]))
    row = Latency("end to end", 1, *(milliseconds,) * 4)
    books = Reconciliation({"slots": Counter({"in": 2, "filled": 1, "pending": 1})}, differences, 2)
    return Report(
        Settings(trigger=trigger), books, [row], {"kafka_to_events": [250, 90]}, Sent(started_at=0), two_records(), sink
    )


def test_the_report_shows_counts_verdict_latencies_and_pauses(capsys: pytest.CaptureFixture[str]) -> None:
    """Everything that a run has shown is on the last screen."""
    show_report(report("real-time", 12, ["result x is missing"]))

    text = capsys.readouterr().out
    for fact in (
        "filled 1, pending 1",
        "result x is missing",
        "1 differences",
        "12",
        "pauses of 250, 90 ms",
        "4 rows in 3 commits",
        "p50 2 p99 5",
    ):
        assert fact in text


def test_the_comparison_is_the_ratio_of_the_same_hop(capsys: pytest.CaptureFixture[str]) -> None:
    """Micro-batch over real-time, column by column; a latency of zero counts as one millisecond."""
    show_comparison(report("real-time", 0, []), report("micro-batch", 450, []))

    assert 4 == capsys.readouterr().out.count("450.0x")
