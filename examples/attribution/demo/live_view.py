"""
Show a run while it goes on: a live table on a terminal, plain lines elsewhere, and a line for each cap that is reached.

What arrives are the books, the sender's counts and notices of caps; what leaves is text.
Real-time mode shows nothing of itself until a batch ends, so every number here comes from Kafka.
"""

import time
from collections import Counter
from collections.abc import Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from examples.attribution.audit.latency import Latency, latencies
from examples.attribution.audit.run_log import Books
from examples.attribution.pacing.throttle import Notice
from examples.attribution.traffic.producer import Sent
from examples.measure.percentiles import percentiles

LIVE_SECONDS = 1.0
PLAIN_SECONDS = 5.0


class View:
    """A live view, as a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to `console`, the terminal by default."""
        self.console = console or Console()
        self._live = Live(console=self.console, auto_refresh=False, transient=True)
        self._shown_at = 0.0
        self._sent, self._measured_from = Sent(started_at=time.time()), 0.0
        self._told: set[str] = set()
        self._caps = "no cap reached"

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
        self._told.clear()
        self._caps = "no cap reached"

    def tell(self, notices: Sequence[Notice]) -> None:
        """Print a line when a campaign reaches its cap for the first time; the rest of the notices is counted."""
        codes = Counter(notice.code for notice in notices)
        if codes:
            self._caps = f"caps reached {codes['cap_reached']}, reopened {codes['cap_reopened']}"
        for notice in notices:
            if notice.campaign_id not in self._told:
                self._told.add(notice.campaign_id)
                self.say(
                    f"{notice.at_ms / 1000 - self._sent.started_at:5.0f} s cap reached: "
                    f"{campaign_name(notice.campaign_id)} has {notice.delivered} delivered and {notice.reserved} "
                    f"reserved of {notice.delivered + notice.reserved + notice.available}; its requests are resold"
                )

    def show(self, books: Books, *, draining: bool = False) -> None:
        """Show the state of the run, if the last time is long enough ago."""
        period = LIVE_SECONDS if self.console.is_terminal else PLAIN_SECONDS
        if time.monotonic() - self._shown_at < period:
            return
        self._shown_at = time.monotonic()
        is_cold = time.time() * 1000 < self._measured_from
        phase = "draining" if draining else "warming up" if is_cold else "measuring"
        rows = latencies(books, 0 if is_cold else self._measured_from)
        if self.console.is_terminal:
            self._live.update(_live_table(phase, books, self._sent, rows, self._caps), refresh=True)
        else:
            self.say(_plain_line(phase, books, self._sent, rows, self._caps))


def _plain_line(phase: str, books: Books, sent: Sent, rows: Sequence[Latency], caps: str) -> str:
    end_to_end = [row for row in rows if row.hop == "end to end"]
    latency = f"p50 {end_to_end[0].p50} p99 {end_to_end[0].p99} ms" if end_to_end else "no result yet"
    return (
        f"{time.time() - sent.started_at:5.0f} s {phase}: sent {sent.records}, "
        f"results {len(books.results)}, rejected {len(books.rejects)}, "
        f"waiting {sum(books.waiting.values())}, pending {len(books.pending)}, "
        f"orders open {books.open_orders()}, {caps}, {latency}"
    )


def _live_table(phase: str, books: Books, sent: Sent, rows: Sequence[Latency], caps: str) -> Group:
    [lag] = percentiles(sent.lags_ms[-10_000:] or [0], [0.99])
    head = Text(
        f"{time.time() - sent.started_at:4.0f} s  {phase}   sent {sent.records}, now {sent.rate:.0f}/s, "
        f"producer lag p99 {lag:.1f} ms   Ctrl-C ends the traffic and reconciles\n"
        f"pending {len(books.pending)}, orders without final credit {books.open_orders()} of {len(books.orders)}, "
        f"{caps}",
        style="bold",
    )
    waiting = Table("waiting, by stage and partition", "records", box=None)
    for place, records in sorted(books.waiting.items()):
        waiting.add_row(place, str(records))
    codes = Table("result", "code", "results", box=None)
    for (kind, code), count in sorted(Counter((r["kind"], r["code"]) for r in books.results.values()).items()):
        codes.add_row(kind, code, str(count))
    reasons = Table("rejected because", "records", box=None)
    for reason, count in sorted(Counter(reason for reason, _ in books.rejects.values()).items()):
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


def campaign_name(campaign_id: str) -> str:
    """Return the name of a campaign without the run that it belongs to."""
    return campaign_id.partition("-")[2]
