"""
Show the progress of a run as a live table on a terminal, or as plain lines elsewhere.

The view also prints a line when a campaign reaches its cap. All numbers are read from Kafka because Spark does not
report a real-time query's progress until the batch ends.
"""

import time
from collections import Counter
from collections.abc import Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from examples.attribution.audit.latency import Latency, hop_latencies
from examples.attribution.audit.run_log import RunLog
from examples.attribution.pacing.throttle import Notice
from examples.attribution.traffic.producer import SendLog
from spark_rtm.measure.percentiles import percentiles

TABLE_PERIOD_SECONDS = 1.0
LINE_PERIOD_SECONDS = 5.0
NEWEST = 10_000
"""
The view computes latencies and the producer lag from this number of newest records, so its work does not grow with the
run.
"""
NO_CAP = "no cap reached"


class LiveView:
    """A live view of a run's progress on a console; use the view as a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to `console`, or to standard output if `console` is None."""
        self.console = console or Console()
        self._live = Live(console=self.console, auto_refresh=False, transient=True)
        self._updated_at = 0.0
        self._sent = SendLog(started_at=time.time())
        self._measured_from = 0.0
        self._campaigns_at_cap: set[str] = set()
        self._caps = NO_CAP

    def __enter__(self) -> "LiveView":
        """Start the live table if the console is a terminal."""
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the live table."""
        if self.console.is_terminal:
            self._live.stop()

    def print_line(self, text: str) -> None:
        """Print one line above the table."""
        self.console.print(text, highlight=False, soft_wrap=True)

    def start_run(self, sent: SendLog, measured_from: float) -> None:
        """Show the counts of a new run, whose measured part starts at `measured_from` (UTC milliseconds)."""
        self._sent, self._measured_from = sent, measured_from
        self._campaigns_at_cap.clear()
        self._caps = NO_CAP

    def print_caps(self, notices: Sequence[Notice]) -> None:
        """Print a line for each campaign that has reached its cap for the first time, and count all notices."""
        codes = Counter(notice.code for notice in notices)
        if codes:
            self._caps = f"caps reached {codes['cap_reached']}, reopened {codes['cap_reopened']}"
        for notice in notices:
            if notice.campaign_id not in self._campaigns_at_cap:
                self._campaigns_at_cap.add(notice.campaign_id)
                self.print_line(
                    f"{notice.at_ms / 1000 - self._sent.started_at:5.0f} s cap reached: "
                    f"{campaign_name(notice.campaign_id)} has {notice.delivered} delivered and {notice.reserved} "
                    f"reserved of {notice.delivered + notice.reserved + notice.available} impressions; "
                    f"its next requests are resold"
                )

    def update(self, log: RunLog, *, is_draining: bool = False) -> None:
        """Refresh the view with the state of the run, at most once per update period."""
        period = TABLE_PERIOD_SECONDS if self.console.is_terminal else LINE_PERIOD_SECONDS
        if time.monotonic() - self._updated_at < period:
            return
        self._updated_at = time.monotonic()
        is_warm_up = time.time() * 1000 < self._measured_from
        phase = "draining" if is_draining else "warming up" if is_warm_up else "measuring"
        rows = hop_latencies(log, 0 if is_warm_up else self._measured_from, NEWEST)
        if self.console.is_terminal:
            self._live.update(_live_table(phase, log, self._sent, rows, self._caps), refresh=True)
        else:
            self.print_line(_plain_line(phase, log, self._sent, rows, self._caps))


def _plain_line(phase: str, log: RunLog, sent: SendLog, rows: Sequence[Latency], caps: str) -> str:
    end_to_end = [row for row in rows if row.hop == "end to end"]
    latency = f"p50 {end_to_end[0].p50} p99 {end_to_end[0].p99} ms" if end_to_end else "no result yet"
    return (
        f"{time.time() - sent.started_at:5.0f} s {phase}: sent {sent.records}, "
        f"results {len(log.results)}, rejected {len(log.rejects)}, "
        f"waiting {sum(log.waiting.values())}, pending {len(log.pending)}, "
        f"open orders {log.open_orders()}, {caps}, {latency}"
    )


def _live_table(phase: str, log: RunLog, sent: SendLog, rows: Sequence[Latency], caps: str) -> Group:
    [lag_p99_ms] = percentiles(sent.lags_ms[-NEWEST:] or [0], [0.99])
    head = Text(
        f"{time.time() - sent.started_at:4.0f} s  {phase}   sent {sent.records}, now {sent.rate:.0f}/s, "
        f"producer lag p99 {lag_p99_ms:.1f} ms   press Ctrl-C to end the traffic and reconcile\n"
        f"pending results {len(log.pending)}, orders without final credit {log.open_orders()} of "
        f"{len(log.orders)}, {caps}",
        style="bold",
    )
    waiting = Table("waiting, by query and partition", "records", box=None)
    for partition, records in sorted(log.waiting.items()):
        waiting.add_row(partition, str(records))
    codes = Table("kind", "code", "results", box=None)
    for (kind, code), count in sorted(Counter((r["kind"], r["code"]) for r in log.results.values()).items()):
        codes.add_row(kind, code, str(count))
    reasons = Table("reject reason", "records", box=None)
    for reason, count in sorted(Counter(reason for reason, _ in log.rejects.values()).items()):
        reasons.add_row(reason, str(count))
    columns = Table.grid(padding=(0, 3))
    columns.add_row(Group(latency_table(rows), Text(), waiting, Text(), reasons), codes)
    return Group(head, Text(), columns)


def latency_table(rows: Sequence[Latency]) -> Table:
    """Return a table of the latencies in milliseconds."""
    table = Table("latency, ms", "records", "p50", "p90", "p99", "max", box=None)
    for row in rows:
        table.add_row(row.hop, *(str(n) for n in (row.records, row.p50, row.p90, row.p99, row.max)))
    return table


def campaign_name(campaign_id: str) -> str:
    """Return the campaign's name without the run id."""
    return campaign_id.partition("-")[2]
