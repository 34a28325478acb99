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
from examples.sinks.metrics import percentiles

if TYPE_CHECKING:
    from examples.attribution.pipeline import Report

LIVE_SECONDS = 1.0
PLAIN_SECONDS = 5.0
DIFFERENCES_SHOWN = 10
PAUSES_SHOWN = 12
PLAIN_WIDTH = 140


class View:
    """A live view, as a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to `console`, the terminal by default."""
        self.console = console or Console()
        self._live = Live(console=self.console, auto_refresh=False, transient=True)
        self._shown_at = 0.0
        self._sent, self._measured_from = Sent(started_at=time.time()), 0.0

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
        self.console.print(text, highlight=False, soft_wrap=True)

    def watch(self, sent: Sent, measured_from: float) -> None:
        """Take the counts of a sender, and the UTC milliseconds from which its records are measured."""
        self._sent, self._measured_from = sent, measured_from

    def show(self, ledger: Ledger, *, draining: bool = False) -> None:
        """Show the state of the run, if the last time is long enough ago."""
        period = LIVE_SECONDS if self.console.is_terminal else PLAIN_SECONDS
        if time.monotonic() - self._shown_at < period:
            return
        self._shown_at = time.monotonic()
        is_cold = time.time() * 1000 < self._measured_from
        phase = "draining" if draining else "warming up" if is_cold else "measuring"
        rows = latencies(ledger, 0 if is_cold else self._measured_from)
        if self.console.is_terminal:
            self._live.update(_live_table(phase, ledger, self._sent, rows), refresh=True)
        else:
            self.say(_plain_line(phase, ledger, self._sent, rows))


def _plain_line(phase: str, ledger: Ledger, sent: Sent, rows: Sequence[Latency]) -> str:
    end_to_end = [row for row in rows if row.hop == "end to end"]
    latency = f"p50 {end_to_end[0].p50} p99 {end_to_end[0].p99} ms" if end_to_end else "no result yet"
    return (
        f"{time.time() - sent.started_at:5.0f} s {phase}: sent {sent.records}, "
        f"results {len(ledger.results)}, rejected {len(ledger.rejects)}, "
        f"waiting {sum(ledger.waiting.values())}, {latency}"
    )


def _live_table(phase: str, ledger: Ledger, sent: Sent, rows: Sequence[Latency]) -> Group:
    lag = _p99(sent.lags_ms[-10_000:])
    head = Text(
        f"{time.time() - sent.started_at:4.0f} s  {phase}   sent {sent.records}, now {sent.rate:.0f}/s, "
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
    sides.add_row(Group(latency_table(rows), Text(), waiting, Text(), reasons), codes)
    return Group(head, Text(), sides)


def latency_table(rows: Sequence[Latency]) -> Table:
    """Return the latencies as a table, in milliseconds."""
    table = Table("latency, ms", *("records", "p50", "p90", "p99", "max"), box=None)
    for row in rows:
        table.add_row(row.hop, *(str(n) for n in (row.records, row.p50, row.p90, row.p99, row.max)))
    return table


def show_report(report: "Report") -> None:
    """Print reconciliation and latencies of one run."""
    console, s, sent = _console(), report.settings, report.sent
    length = f"{s.seconds:g} s" if s.seconds else "until Ctrl-C"
    console.print(
        f"\n{s.trigger} on {s.master or f'local[{s.slots}]'} | {s.rate:g} records/s, {s.arrivals} | {length} after "
        f"{s.warm_up_seconds:g} s warm-up | Kafka connector {connector().version} | achieved {sent.rate:.1f}/s, "
        f"producer lag p99 {_p99(sent.lags_ms):.1f} ms, not delivered {sent.failed}",
        highlight=False,
        soft_wrap=True,
    )
    _show_reconciliation(console, report)
    console.print()
    console.print(latency_table(report.latencies))
    for name, gaps in report.gaps_ms.items():
        if gaps:
            pauses = ", ".join(map(str, gaps[-PAUSES_SHOWN:]))
            console.print(f"batch boundary of {name}: pauses of {pauses} ms", highlight=False, soft_wrap=True)


def _show_reconciliation(console: Console, report: "Report") -> None:
    table, books, ledger = Table("reconciliation", "in", "became", box=None), report.reconciliation, report.ledger
    for family, codes in books.counts.items():
        became = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()) if code != "in" and count)
        table.add_row(family, str(codes["in"]), became)
    console.print(table)
    again = ", ".join(f"{topic} {count}" for topic, count in sorted(ledger.delivered_again.items()))
    console.print(f"written to ad-attributed: {ledger.result_rows} rows; written twice: {again or 'nothing'}")
    p50, p99, most = percentiles(report.sink.oldest_ms)
    console.print(
        f"upserted into PostgreSQL: {report.sink.flushed} rows in {report.sink.flushes} commits, {report.sink.deduped} "
        f"replaced before; from sink to commit p50 {p50:.0f} p99 {p99:.0f} max {most:.0f} ms",
        highlight=False,
        soft_wrap=True,
    )
    for difference in books.differences[:DIFFERENCES_SHOWN]:
        console.print(difference, style="red", highlight=False, soft_wrap=True)
    verdict = f"{len(books.differences)} differences from the replay of {books.results} results by the rule"
    console.print(verdict, style="bold red" if books.differences else "bold green", highlight=False)


def show_comparison(real_time: "Report", micro_batch: "Report") -> None:
    """Print by how much the micro-batch run was slower."""
    console = _console()
    table = Table("micro-batch / real-time", "p50", "p90", "p99", "max", box=None)
    slow_rows = {row.hop: row for row in micro_batch.latencies}
    for fast in real_time.latencies:
        slow = slow_rows[fast.hop]
        pairs = ((slow.p50, fast.p50), (slow.p90, fast.p90), (slow.p99, fast.p99), (slow.max, fast.max))
        table.add_row(fast.hop, *(f"{s / max(f, 1):.1f}x" for s, f in pairs))
    console.print()
    console.print(table)


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)


def _p99(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=100)[98] if len(values) > 1 else 0.0
