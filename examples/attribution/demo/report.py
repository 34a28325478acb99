"""Print the report of a run, and the comparison of two runs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from examples.attribution.audit.latency import Latency
from examples.attribution.audit.reconciliation import Reconciliation
from examples.attribution.audit.run_log import RunLog
from examples.attribution.demo.beside import HOP, Beside
from examples.attribution.demo.live_view import campaign_name
from examples.attribution.pacing.throttle import Notice
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC
from examples.attribution.traffic.producer import SendLog
from spark_rtm.measure import percentiles
from spark_rtm.measure.cpu import MAX_BUSY_SHARE, Cpu
from spark_rtm.services import connector
from spark_rtm.sinks.metrics import Metrics

MAX_DIFFERENCES = 10
MAX_PAUSES = 12
PLAIN_WIDTH = 140
"""Width in columns of a report that is written to a file or a pipe."""
MIN_CORES = 0.005
"""Minimum number of cores of a printed part of the run. A smaller number would be printed as 0.00."""


@dataclass(frozen=True)
class Report:
    """The outcome of one run."""

    settings: Settings
    reconciliation: Reconciliation
    latencies: list[Latency]
    """Latencies of the hops, and delays from each deadline to the result that the timer of the deadline emits."""
    sent: SendLog
    log: RunLog
    sink: Metrics
    """Counters of the PostgreSQL sink."""
    notices: Sequence[Notice]
    """Notices about campaigns that reached their caps or were reopened."""
    cpu: Cpu | None
    """CPU use during the measured part, or None if the run ended before this part."""
    pauses_ms: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The length (ms) of each pause between two batches, by query name."""
    beside: Beside | None = None
    """The copy of the first query in micro-batch mode, which reads the same records at the same time."""

    def side_by_side(self) -> list[Latency]:
        """Return the latencies of the first query in both modes, or an empty list after a run in one mode."""
        slow = self.beside.latency(self.sent.measured_from_ms(self.settings)) if self.beside else None
        return [*(row for row in self.latencies if row.hop == HOP), slow] if slow else []


def print_report(report: Report) -> None:
    """Print the counts, the differences, the campaigns, the latencies and the CPU use of one run."""
    console, settings, sent, sink = report_console(), report.settings, report.sent, report.sink
    duration = f"{settings.duration:g} s" if settings.duration else "until Ctrl-C"
    [lag_p99_ms] = percentiles(sent.lags_ms or [0], [0.99])
    _print(
        console,
        f"\n{settings.trigger} (timers: {settings.python_trigger}) on "
        f"{settings.master or f'local[{settings.slots}]'} | {settings.rate:g} records/s | "
        f"{duration} after {settings.warm_up_seconds:g} s of warm-up | Kafka connector "
        f"{connector().version} | achieved {sent.rate:.1f}/s, producer lag p99 {lag_p99_ms:.1f} ms, "
        f"failed sends {sent.failed}",
    )
    print_reconciliation(console, report.reconciliation, report.log)
    p50_ms, p99_ms, max_ms = percentiles(sink.oldest_ms or [0], (0.5, 0.99, 1))
    _print(
        console,
        f"PostgreSQL: {sink.flushed} rows upserted in {sink.flushes} commits; {sink.deduped} rows "
        f"were replaced by newer versions before the upsert; time from a row's arrival to its commit: p50 {p50_ms:.0f} "
        f"p99 {p99_ms:.0f} max {max_ms:.0f} ms\n",
    )
    for table in (_campaigns(report), _latencies(report)):
        console.print(table)
        console.print()
    if settings.exactly_once:
        _print(console, f"exactly once: each hop waits for the commit before it, every {settings.exactly_once:g} s")
    for name, pauses_ms in report.pauses_ms.items():
        _print(console, f"pauses of {name} at batch boundaries: {', '.join(map(str, pauses_ms[-MAX_PAUSES:]))} ms")
    if report.cpu:
        _print_cpu(console, report.cpu)


def print_reconciliation(console: Console, outcome: Reconciliation, log: RunLog) -> None:
    """Print the counts, the duplicates, the checked credit and the first differences of one run."""
    console.print(_counts(outcome))
    duplicates = ", ".join(f"{topic} {count}" for topic, count in sorted(log.duplicates.items()))
    _print(
        console, f"ad-attributed: {log.written[ATTRIBUTED_TOPIC]} records; duplicates by topic: {duplicates or 'none'}"
    )
    _print(
        console,
        f"credit: {outcome.orders} orders compared with the rule, {outcome.erased_orders} excluded because "
        "their users were erased",
    )
    for difference in outcome.differences[:MAX_DIFFERENCES]:
        console.print(difference, style="red", highlight=False, soft_wrap=not console.is_terminal)


def plain_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return a table without borders."""
    table = Table(*header, box=None)
    for row in rows:
        table.add_row(*map(str, row))
    return table


def _counts(outcome: Reconciliation) -> Table:
    """Return the table of input records and results, with one row per kind of event."""
    rows = []
    for family, codes in outcome.counts.items():
        results = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()) if code != "in" and count)
        rows.append((family, codes["in"], results))
    return plain_table(("kind", "input", "results"), rows)


def _campaigns(report: Report) -> Table:
    """Return the table of campaigns with goal, delivery and cap, and a row with the totals."""
    reached = {notice.campaign_id: notice.at_ms for notice in reversed(report.notices) if notice.code == "cap_reached"}
    reopened = Counter(notice.campaign_id for notice in report.notices if notice.code == "cap_reopened")
    campaigns = report.reconciliation.campaigns
    rows: list[tuple[object, ...]] = [
        (
            campaign_name(campaign_id := campaign.goal.campaign_id),
            campaign.goal.impressions,
            campaign.delivered,
            campaign.over_delivered,
            f"{reached[campaign_id] / 1000 - report.sent.started_at:.0f} s" if campaign_id in reached else "never",
            reopened[campaign_id],
        )
        for campaign in campaigns
    ]
    goal = sum(campaign.goal.impressions for campaign in campaigns)
    rows.append(("all", goal, "", report.reconciliation.over_delivered, "", ""))
    header = ("campaign", "goal", "delivered", "over-delivered", "cap first reached", "reopened")
    return plain_table(header, rows)


def _latencies(report: Report) -> Table:
    """Return the table of latencies in the measured part, including those of the copy in micro-batch mode."""
    rows = [astuple(row) for row in report.latencies]
    rows += [(f"{row.hop}, micro-batch mode", *astuple(row)[1:]) for row in report.side_by_side()[1:]]
    return plain_table(("latency, ms", "records", "p50", "p90", "p99", "max"), rows)


def verdict(outcome: Reconciliation, log: RunLog) -> Text:
    """Return one line that states how many results, orders and counts were checked, and how many differences exist."""
    checked = f"{outcome.results:,} results, {outcome.orders:,} orders and {len(log.counts):,} counts"
    if not outcome.results:
        return Text("nothing was checked, because the run ended before its first result", "bold yellow")
    if outcome.differences:
        return Text(f"{len(outcome.differences)} differences from the replay of {checked}", "bold red")
    return Text(f"0 differences from the replay of {checked}", "bold green")


def exit_status(reports: Iterable[Report]) -> int:
    """Return 0 if every run has results and all results match the replay, otherwise 1."""
    return 0 if all(r.reconciliation.results and not r.reconciliation.differences for r in reports) else 1


def print_verdict(reports: Sequence[Report], last: Sequence[str]) -> None:
    """Print the final lines: one verdict per run, and the next steps."""
    lines: list[Text | str] = []
    for report in reports:
        end_to_end = next((row for row in report.latencies if row.hop == "end to end"), None)
        latency = f"end to end p50 {end_to_end.p50:,} ms, p99 {end_to_end.p99:,} ms" if end_to_end else "no latency"
        over = f"{report.reconciliation.over_delivered} impressions over-delivered"
        lines += [f"{report.settings.trigger} mode: {latency}, {over}", verdict(report.reconciliation, report.log)]
        lines += comparison_of_modes(report)
    report_console().print(Panel(Group(*lines, *last), title="verdict", title_align="left", expand=False))


def comparison_of_modes(report: Report) -> list[str]:
    """Return a sentence that compares the modes, or no sentence if the first query ran in only one mode."""
    rows = report.side_by_side()
    if len(rows) < 2:
        return []
    fast, slow = rows
    in_micro_batch_mode = f"{slow.p50:,} ms in micro-batch mode ({slow.p50 / max(fast.p50, 1):.0f}x)"
    return [f"decode, at the same time: p50 {fast.p50:,} ms in real-time mode, {in_micro_batch_mode}"]


def _print_cpu(console: Console, cpu: Cpu) -> None:
    parts = ", ".join(f"{name} {cores:.2f}" for name, cores in cpu.by_name.items() if cores >= MIN_CORES)
    _print(
        console,
        f"CPU use in the measured part of {cpu.seconds:.0f} s: {cpu.run:.2f} of {cpu.cores} cores ({parts}); "
        f"all programs on the machine used {cpu.machine:.2f} cores",
    )
    if cpu.is_full:
        text = f"more than {MAX_BUSY_SHARE:.0%} of the CPU was busy, so latencies include queueing; use a lower RATE"
        console.print(text, style="bold yellow", highlight=False)


def _print(console: Console, text: str) -> None:
    # A terminal would break a long line inside a word.
    console.print(text, highlight=False, soft_wrap=not console.is_terminal)


def report_console() -> Console:
    """Return a console that is wide enough for tables, even in a file or a pipe."""
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)
