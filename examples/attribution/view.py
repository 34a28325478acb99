"""
Show a run: a live table on a terminal, plain lines elsewhere, and the report at the end.

What arrives are the ledger, the sender's counts and reports; what leaves is text.
Real-time mode shows nothing of itself until a batch ends, so every number here comes from Kafka.
"""

import statistics
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from examples.attribution.latency import Latency, latencies
from examples.attribution.ledger import Ledger
from examples.attribution.traffic import Sent
from examples.services import connector

if TYPE_CHECKING:
    from examples.attribution.pipeline import Report

LIVE_SECONDS = 1.0
PLAIN_SECONDS = 5.0
DIFFERENCES_SHOWN = 10


class View:
    """A live view, as a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to `console`, the terminal by default."""
        self.console = console or Console()
        self._live = Live(console=self.console, auto_refresh=False, transient=True)
        self._shown_at = 0.0

    def __enter__(self) -> "View":
        """Take over the terminal."""
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the terminal back."""
        if self.console.is_terminal:
            self._live.stop()

    def say(self, text: str) -> None:
        """Print one line above the table."""
        self.console.print(text, highlight=False)

    def show(self, phase: str, ledger: Ledger, sent: Sent) -> None:
        """Show the state of the run, if the last time is long enough ago."""
        period = LIVE_SECONDS if self.console.is_terminal else PLAIN_SECONDS
        if time.monotonic() - self._shown_at < period:
            return
        self._shown_at = time.monotonic()
        if self.console.is_terminal:
            self._live.update(_live_table(phase, ledger, sent), refresh=True)
        else:
            self.say(_plain_line(phase, ledger, sent))


def _plain_line(phase: str, ledger: Ledger, sent: Sent) -> str:
    end_to_end = [row for row in latencies(ledger) if row.hop == "end to end"]
    latency = f"p50 {end_to_end[0].p50} p99 {end_to_end[0].p99} ms" if end_to_end else "no result yet"
    return (
        f"{time.time() - sent.started_at:5.0f} s {phase}: sent {sent.records} ({sent.rate:.0f}/s), "
        f"results {len(ledger.results)}, rejected {len(ledger.rejects)}, "
        f"waiting {sum(ledger.waiting.values())}, {latency}"
    )


def _live_table(phase: str, ledger: Ledger, sent: Sent) -> Group:
    lag = statistics.quantiles(sent.lags_ms[-10_000:], n=100)[98] if len(sent.lags_ms) > 1 else 0
    head = Text(
        f"{time.time() - sent.started_at:4.0f} s  {phase}   sent {sent.records} at {sent.rate:.0f}/s, "
        f"producer lag p99 {lag:.1f} ms   Ctrl-C ends the traffic and reconciles",
        style="bold",
    )
    waiting = Table("waiting, by stage and partition", "records", box=None)
    for place, records in sorted(ledger.waiting.items()):
        waiting.add_row(place, str(records))
    codes = Table("result", "code", "results", box=None)
    for (kind, code), count in sorted(Counter((r["kind"], r["code"]) for r in ledger.results.values()).items()):
        codes.add_row(kind, code, str(count))
    reasons = Table("rejected because", "records", box=None)
    for reason, count in sorted(Counter(reason for reason, _ in ledger.rejects.values()).items()):
        reasons.add_row(reason, str(count))
    sides = Table.grid(padding=(0, 3))
    sides.add_row(Group(latency_table(latencies(ledger)), Text(), waiting, Text(), reasons), codes)
    return Group(head, Text(), sides)


def latency_table(rows: Sequence[Latency]) -> Table:
    """Return the latencies as a table, in milliseconds."""
    table = Table("latency, ms", *("records", "p50", "p90", "p99", "max"), box=None)
    for row in rows:
        table.add_row(row.hop, *(str(n) for n in (row.records, row.p50, row.p90, row.p99, row.max)))
    return table


def show_report(report: "Report") -> None:
    """Print reconciliation and latencies of one run."""
    console, s, books = Console(), report.settings, report.reconciliation
    console.print(
        f"\n{s.trigger} | {s.rate:g} records/s, {s.arrivals} | {s.seconds:g} s after {s.warm_up_seconds:g} s warm-up | "
        f"Kafka connector {connector().version} | sent at {report.sent.rate:.1f}/s, "
        f"producer lag p99 {_p99(report.sent.lags_ms):.1f} ms",
        highlight=False,
    )
    table = Table("reconciliation", "in", "became", box=None)
    for family, codes in books.counts.items():
        became = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()) if code != "in" and count)
        table.add_row(family, str(codes["in"]), became)
    console.print(table)
    again = ", ".join(f"{topic} {count}" for topic, count in report.ledger.delivered_again.items())
    console.print(f"delivered again: {again or 'nothing'}", highlight=False)
    for difference in books.differences[:DIFFERENCES_SHOWN]:
        console.print(difference, style="red", highlight=False)
    verdict = f"{len(books.differences)} differences from the replay of {books.results} results by the rule"
    console.print(verdict, style="bold red" if books.differences else "bold green", highlight=False)
    console.print()
    console.print(latency_table(report.latencies))
    for name, gaps in report.gaps_ms.items():
        if gaps:
            console.print(
                f"batch boundary of {name}: {len(gaps)} boundaries, {min(gaps)} to {max(gaps)} ms beyond the interval",
                highlight=False,
            )


def show_comparison(real_time: "Report", micro_batch: "Report") -> None:
    """Print the ratio of the two runs."""
    console = Console()
    table = Table("micro-batch / real-time", "p50", "p90", "p99", "max", box=None)
    for fast, slow in zip(real_time.latencies, micro_batch.latencies, strict=True):
        pairs = ((slow.p50, fast.p50), (slow.p90, fast.p90), (slow.p99, fast.p99), (slow.max, fast.max))
        table.add_row(fast.hop, *(f"{s / max(f, 1):.1f}x" for s, f in pairs))
    console.print()
    console.print(table)


def _p99(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=100)[98] if len(values) > 1 else 0.0
