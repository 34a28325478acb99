"""Print the report of a run, and the comparison of two runs."""

from collections.abc import Sequence
from dataclasses import dataclass

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
from spark_rtm.measure.cpu import MAX_BUSY_SHARE, Cpu
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.services import connector
from spark_rtm.sinks.metrics import Metrics

MAX_DIFFERENCES = 10
MAX_PAUSES = 12
PLAIN_WIDTH = 140
"""Width in columns of a report that is written to a file or a pipe."""
MIN_CORES = 0.005
"""Parts of the run that use fewer cores are not printed, because the number would be rounded to 0.00."""


@dataclass(frozen=True)
class Report:
    """The outcome of one run."""

    settings: Settings
    reconciliation: Reconciliation
    latencies: list[Latency]
    sent: SendLog
    log: RunLog
    sink: Metrics
    """Counters of the PostgreSQL sink."""
    notices: Sequence[Notice]
    """Notices about campaigns that reached their caps or were reopened."""
    cpu: Cpu | None
    """CPU use during the measured part, or None if the run ended before this part."""
    timers: Sequence[Latency] = ()
    """Latencies from a deadline to the result that the timer emits."""
    boundaries: Sequence[tuple[str, float, int]] = ()
    """The query, the second since the first record, and the length in ms of each pause between two batches."""
    beside: Beside | None = None
    """The first query in micro-batch mode, which read the same records at the same time."""

    @property
    def pauses_ms(self) -> dict[str, list[int]]:
        """Return the length (ms) of each pause between two batches, by query name."""
        names = dict.fromkeys(name for name, _, _ in self.boundaries)
        return {name: [pause_ms for query, _, pause_ms in self.boundaries if query == name] for name in names}

    def side_by_side(self) -> list[Latency]:
        """Return the latencies of the first query in both modes, or an empty list after a run in one mode."""
        slow = self.beside.latency(self.sent.measured_from_ms(self.settings)) if self.beside else None
        return [*(row for row in self.latencies if row.hop == HOP), slow] if slow else []


def print_report(report: Report) -> None:
    """Print the counts, the differences, the campaigns, the latencies and the CPU use of one run."""
    console, settings, sent = report_console(), report.settings, report.sent
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
    print_reconciliation(console, report.reconciliation, report.log, report.sink)
    console.print()
    _print_pacing(console, report)
    console.print()
    table = Table("latency, ms", "records", "p50", "p90", "p99", "max", box=None)
    for row in (*report.latencies, *report.timers):
        table.add_row(row.hop, *(str(n) for n in (row.records, row.p50, row.p90, row.p99, row.max)))
    console.print(table)
    for name, pauses_ms in report.pauses_ms.items():
        _print(console, f"pauses of {name} at batch boundaries: {', '.join(map(str, pauses_ms[-MAX_PAUSES:]))} ms")
    if report.cpu:
        _print_cpu(console, report.cpu)


def print_reconciliation(console: Console, outcome: Reconciliation, log: RunLog, sink: Metrics | None = None) -> None:
    """Print the counts, the duplicates, the checked credit and the first differences of one run."""
    table = Table("kind", "input", "results", box=None)
    for family, codes in outcome.counts.items():
        results = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()) if code != "in" and count)
        table.add_row(family, str(codes["in"]), results)
    console.print(table)
    duplicates = ", ".join(f"{topic} {count}" for topic, count in sorted(log.duplicates.items()))
    _print(
        console, f"ad-attributed: {log.written[ATTRIBUTED_TOPIC]} records; duplicates by topic: {duplicates or 'none'}"
    )
    if sink:
        _print_sink(console, sink)
    _print(
        console,
        f"credit: {outcome.credits.compared} orders compared with the rule, {outcome.credits.erased} excluded because "
        "their users were erased later",
    )
    for difference in outcome.differences[:MAX_DIFFERENCES]:
        console.print(difference, style="red", highlight=False, soft_wrap=not console.is_terminal)


def verdict(outcome: Reconciliation, log: RunLog) -> Text:
    """Return one line that states how many results, orders and counts were checked, and how many differences exist."""
    checked = f"{outcome.results:,} results, {outcome.credits.compared:,} orders and {len(log.counts):,} counts"
    if not outcome.results:
        return Text("nothing was checked: the run ended before its first result", "bold yellow")
    if outcome.differences:
        return Text(f"{len(outcome.differences)} differences from the replay of {checked}", "bold red")
    return Text(f"0 differences from the replay of {checked}", "bold green")


def print_verdict(reports: Sequence[Report], last: Sequence[str]) -> None:
    """Print the final lines: one verdict per run, and the next steps."""
    lines: list[Text | str] = []
    for report in reports:
        end_to_end = next((row for row in report.latencies if row.hop == "end to end"), None)
        latency = f"p50 {end_to_end.p50:,} ms, p99 {end_to_end.p99:,} ms" if end_to_end else "no latency measured"
        over = f"{report.reconciliation.over_delivered} impressions over-delivered"
        lines += [f"{report.settings.trigger} mode: {latency}, {over}", verdict(report.reconciliation, report.log)]
        lines += comparison_of_modes(report)
    report_console().print(Panel(Group(*lines, *last), title="verdict", title_align="left", expand=False))


def comparison_of_modes(report: Report) -> list[str]:
    """
    Return a list of sentences that compare the two modes.

    The list has one sentence if the first query ran in both modes at the same time. Otherwise it is empty.
    """
    rows = report.side_by_side()
    if len(rows) < 2:
        return []
    fast, slow = rows
    factor = f"{slow.p50 / max(fast.p50, 1):.0f}x"
    return [f"decode, both modes side by side: p50 {fast.p50:,} ms and {slow.p50:,} ms ({factor})"]


def _print_sink(console: Console, sink: Metrics) -> None:
    p50_ms, p99_ms, max_ms = percentiles(sink.oldest_ms or [0], (0.5, 0.99, 1))
    _print(
        console,
        f"PostgreSQL: {sink.flushed} rows upserted in {sink.flushes} commits; {sink.deduped} rows "
        f"were replaced by newer versions before the upsert; time from sink to commit: p50 {p50_ms:.0f} "
        f"p99 {p99_ms:.0f} max {max_ms:.0f} ms",
    )


def _print_pacing(console: Console, report: Report) -> None:
    reached = {notice.campaign_id: notice.at_ms for notice in reversed(report.notices) if notice.code == "cap_reached"}
    columns = ("campaign", "goal", "delivered", "over-delivered", "pacing index", "cap first reached", "reopened")
    table = Table(*columns, box=None)
    campaigns = report.reconciliation.campaigns
    for campaign in campaigns:
        campaign_id, index = campaign.goal.campaign_id, campaign.pacing.index
        at_ms = reached.get(campaign_id)
        table.add_row(
            campaign_name(campaign_id),
            str(campaign.goal.impressions),
            str(campaign.pacing.delivered),
            str(campaign.over_delivered),
            "none" if index is None else f"{index:.2f}",
            f"{at_ms / 1000 - report.sent.started_at:.0f} s" if at_ms else "never",
            str(sum(n.campaign_id == campaign_id and n.code == "cap_reopened" for n in report.notices)),
        )
    console.print(table)
    goal = sum(campaign.goal.impressions for campaign in campaigns)
    _print(
        console, f"over-delivered: {report.reconciliation.over_delivered} impressions beyond the total goal of {goal}"
    )


def _print_cpu(console: Console, cpu: Cpu) -> None:
    parts = ", ".join(f"{name} {cores:.2f}" for name, cores in cpu.by_name.items() if cores >= MIN_CORES)
    _print(
        console,
        f"CPU use in the measured part of {cpu.seconds:.0f} s: {cpu.run:.2f} of {cpu.cores} cores ({parts}); "
        f"all programs on the machine used {cpu.machine:.2f} cores",
    )
    if cpu.is_full:
        text = f"more than {MAX_BUSY_SHARE:.0%} of the CPU was busy, so latencies measure queueing; use a lower RATE"
        console.print(text, style="bold yellow", highlight=False)


def _print(console: Console, text: str) -> None:
    # A terminal would break a long line inside a word.
    console.print(text, highlight=False, soft_wrap=not console.is_terminal)


def report_console() -> Console:
    """Return a console that is wide enough for tables, even in a file or a pipe."""
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)
