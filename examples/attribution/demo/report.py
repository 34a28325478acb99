"""
Print what a run has shown: reconciliation, credit, campaigns against their goals, latencies, and the CPU that it took.

What arrives are reports; what leaves is text.
Real-time mode earns its keep where late knowledge costs money: in the impressions that are given away beyond a goal.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from examples.attribution.audit.latency import Latency
from examples.attribution.audit.reconciliation import Reconciliation
from examples.attribution.audit.run_log import Books
from examples.attribution.demo.live_view import campaign_name, latency_table
from examples.attribution.pacing.throttle import Notice
from examples.attribution.settings import Settings
from examples.attribution.traffic.producer import Sent
from examples.measure.cpu import FULL_SHARE, Cpu
from examples.measure.percentiles import percentiles
from examples.services import connector
from examples.sinks.metrics import Metrics

DIFFERENCES_SHOWN = 10
PAUSES_SHOWN = 12
PLAIN_WIDTH = 140
MICROS = 1_000_000


@dataclass(frozen=True)
class Report:
    """What a run has shown."""

    settings: Settings
    reconciliation: Reconciliation
    latencies: list[Latency]
    gaps_ms: dict[str, list[int]]
    """How much longer than its interval each batch took, by query."""
    sent: Sent
    books: Books
    sink: Metrics
    """What the PostgreSQL sink counted."""
    notices: Sequence[Notice]
    """When campaigns reached their caps and opened again."""
    cpu: Cpu | None
    """What the measured part took; None if there was none."""


def show_report(report: Report) -> None:
    """Print everything that one run has shown."""
    console, s, sent = _console(), report.settings, report.sent
    length = f"{s.duration:g} s" if s.duration else "until Ctrl-C"
    [lag_p99_ms] = percentiles(sent.lags_ms or [0], [0.99])
    _say(
        console,
        f"\n{s.trigger} on {s.master or f'local[{s.slots}]'} | {s.rate:g} records/s, {s.arrivals} | {length} after "
        f"{s.warm_up_seconds:g} s warm-up | Kafka connector {connector().version} | achieved {sent.rate:.1f}/s, "
        f"producer lag p99 {lag_p99_ms:.1f} ms, not delivered {sent.failed}",
    )
    _show_reconciliation(console, report)
    console.print()
    _show_pacing(console, report)
    console.print()
    console.print(latency_table(report.latencies))
    for name, gaps in report.gaps_ms.items():
        if gaps:
            _say(console, f"batch boundary of {name}: pauses of {', '.join(map(str, gaps[-PAUSES_SHOWN:]))} ms")
    if report.cpu:
        _show_cpu(console, report.cpu)


def _show_reconciliation(console: Console, report: Report) -> None:
    table, outcome, books = Table("reconciliation", "in", "became", box=None), report.reconciliation, report.books
    for family, codes in outcome.counts.items():
        became = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()) if code != "in" and count)
        table.add_row(family, str(codes["in"]), became)
    console.print(table)
    again = ", ".join(f"{topic} {count}" for topic, count in sorted(books.delivered_again.items()))
    console.print(f"written to ad-attributed: {books.result_rows} rows; written twice: {again or 'nothing'}")
    p50, slow, most = percentiles(report.sink.oldest_ms or [0], (0.5, 0.99, 1))
    _say(
        console,
        f"upserted into PostgreSQL: {report.sink.flushed} rows in {report.sink.flushes} commits, {report.sink.deduped} "
        f"replaced before; from sink to commit p50 {p50:.0f} p99 {slow:.0f} max {most:.0f} ms",
    )
    credit, orders = outcome.credits, outcome.credits.conversions
    _say(
        console,
        f"credit: {orders['attributed']} orders of {credit.value_micros / MICROS:.6f}, their touches earned "
        f"{credit.credited_micros / MICROS:.6f}; {credit.compared} orders compared with the rule, {credit.erased} not, "
        f"because their users were erased later; {credit.late_touches} touches came too late to earn",
    )
    for difference in outcome.differences[:DIFFERENCES_SHOWN]:
        console.print(difference, style="red", highlight=False, soft_wrap=True)
    verdict = (
        f"{len(outcome.differences)} differences from the replay of {outcome.results} results, {credit.compared} "
        f"orders and {len(books.counts)} counts by the rules"
    )
    console.print(verdict, style="bold red" if outcome.differences else "bold green", highlight=False)


def _show_pacing(console: Console, report: Report) -> None:
    reached = {notice.campaign_id: notice.at_ms for notice in reversed(report.notices) if notice.code == "cap_reached"}
    table = Table("campaign", "goal", "delivered", "over", "index", "cap first reached", "reopened", box=None)
    for standing in report.reconciliation.campaigns:
        campaign_id, index = standing.goal.campaign_id, standing.pacing.index
        at_ms = reached.get(campaign_id)
        table.add_row(
            campaign_name(campaign_id),
            str(standing.goal.impressions),
            str(standing.pacing.delivered),
            str(standing.over_delivered),
            "none" if index is None else f"{index:.2f}",
            f"{at_ms / 1000 - report.sent.started_at:.0f} s" if at_ms else "never",
            str(sum(n.campaign_id == campaign_id and n.code == "cap_reopened" for n in report.notices)),
        )
    console.print(table)
    goal = sum(standing.goal.impressions for standing in report.reconciliation.campaigns)
    _say(console, f"over-delivered: {report.reconciliation.over_delivered} impressions beyond goals of {goal}")


def _show_cpu(console: Console, cpu: Cpu) -> None:
    parts = ", ".join(f"{name} {cores:.2f}" for name, cores in cpu.by_name.items() if cores >= 0.005)
    _say(
        console,
        f"CPU in {cpu.seconds:.0f} s of the measured part: {cpu.own:.2f} of {cpu.cores} cores ({parts}); "
        f"the whole machine {cpu.machine:.2f}",
    )
    if cpu.is_full:
        text = f"more than {FULL_SHARE:.0%} of the CPU was busy, so that latencies are queue lengths; take a lower RATE"
        console.print(text, style="bold yellow", highlight=False, soft_wrap=True)


def show_comparison(real_time: Report, micro_batch: Report) -> None:
    """Print by how much the micro-batch run was slower, and what it gave away."""
    console = _console()
    table = Table("micro-batch / real-time", "p50", "p90", "p99", "max", box=None)
    slow_rows = {row.hop: row for row in micro_batch.latencies}
    for fast in real_time.latencies:
        slow = slow_rows[fast.hop]
        pairs = ((slow.p50, fast.p50), (slow.p90, fast.p90), (slow.p99, fast.p99), (slow.max, fast.max))
        table.add_row(fast.hop, *(f"{s / max(f, 1):.1f}x" for s, f in pairs))
    console.print()
    console.print(table)
    fast_over, slow_over = real_time.reconciliation.over_delivered, micro_batch.reconciliation.over_delivered
    _say(
        console,
        f"over-delivered at {real_time.settings.rate:g} records/s: {fast_over} impressions in real-time mode, "
        f"{slow_over} in micro-batch, {_times(slow_over, fast_over)}",
    )


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True)


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)


def _times(slow: int, fast: int) -> str:
    return f"{slow / fast:.1f}x as many" if fast else "which no factor tells"
