"""
Show the progress of a run as a live screen on a terminal, or as plain lines if the output is not a terminal.

All numbers come from Kafka, because Spark does not report a real-time query's progress before the end of the batch. The
screen fits a terminal of 80 columns and 24 lines.
"""

import math
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from examples.attribution.audit.latency import Latency, hop_latencies, medians_of_run
from examples.attribution.audit.run_log import RunLog
from examples.attribution.demo.beside import Beside
from examples.attribution.pacing.throttle import DeliveryThrottle
from examples.attribution.settings import Settings
from examples.attribution.traffic.producer import SendLog
from spark_rtm.measure import percentiles
from spark_rtm.sinks.metrics import Metrics

TABLE_PERIOD_SECONDS = 1.0
LINE_PERIOD_SECONDS = 5.0
RATE_SECONDS = 5.0
"""Displayed rates are averages over this short period, so that they follow the warm-up and the end of traffic."""
NEWEST = 10_000
"""Displayed latencies cover only this many newest records, so that the work does not grow with the run."""
BLOCKS = "▁▂▃▄▅▆▇█"
DECADES = 4
"""Range of a block's logarithmic scale. The lowest block means one millisecond, and the full block ten seconds."""
LABEL_COLUMNS = 13
VALUE_COLUMNS = 12
BAR_COLUMNS = 24
COLORS = {"real-time": "bright_blue", "micro-batch": "yellow"}


class LiveView:
    """A live view of one or several runs on a console, as a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to `console`, or to standard output if `console` is None."""
        self.console = console or Console()
        self.curves: dict[str, dict[int, int]] = {}
        """Median latency (ms) per second since the first record, by execution mode."""
        self.beside: Beside | None = None
        """The copy of the first query in micro-batch mode, if a copy runs beside the pipeline."""
        self._live = Live(console=self.console, auto_refresh=False, transient=True)
        self._updated_at = 0.0
        self._sent, self._settings = SendLog(started_at=time.time()), Settings()
        self._throttle, self._title = DeliveryThrottle([]), ""
        self._hint = ""
        self._counted: deque[tuple[float, Counter[str]]] = deque()
        self._drains_from = 0.0

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._live.stop()

    def print_line(self, text: str) -> None:
        """Print one line above the screen."""
        self.console.print(text, highlight=False, soft_wrap=True)

    def start_run(self, sent: SendLog, settings: Settings, throttle: DeliveryThrottle, title: str = "") -> None:
        """Show a new run below `title` or, without a title, below a description of its mode, duration and rate."""
        self._sent, self._settings, self._throttle = sent, settings, throttle
        measured = f"{settings.duration:g} s" if settings.duration else "until Ctrl-C"
        self._title = title or (
            f"{settings.trigger.capitalize()} mode: {settings.warm_up_seconds:g} s of warm-up, {measured} at "
            f"{settings.rate:g} records/s, then a check"
        )
        self._hint = "" if title else "COMPARE=1 also shows the other mode here"
        self.curves = {mode: {} for mode in [settings.trigger, *(["micro-batch"] if self.beside else [])]}
        self._counted.clear()
        self._drains_from = 0.0

    def update(self, log: RunLog, sink: Metrics | None = None, *, is_draining: bool = False) -> None:
        """Refresh the view, at most once per update period."""
        period = TABLE_PERIOD_SECONDS if self.console.is_terminal else LINE_PERIOD_SECONDS
        now = time.monotonic()
        if now - self._updated_at < period:
            return
        self._updated_at = now
        if is_draining and not self._drains_from:
            self._drains_from = time.time()
        if self.console.is_terminal:
            self._live.update(self._screen(log, sink, now), refresh=True)
        else:
            self._print_plain(log)

    def phase(self, log: RunLog) -> str:
        """Return a description of the run's current phase, with the remaining time or the reason for the phase."""
        settings, elapsed = self._settings, time.time() - self._sent.started_at
        measured_for = elapsed - settings.warm_up_seconds
        if self._drains_from:
            sent_for = self._drains_from - self._sent.started_at
            is_early = not settings.duration or sent_for < settings.warm_up_seconds + settings.duration - 1
            cause = "Ctrl-C ended the traffic" if is_early else "the traffic has ended"
            left = log.outstanding()
            return f"draining: {cause}; " + (
                f"{left:,} results are not final yet" if left else "waiting for the last commits"
            )
        if measured_for < 0:
            return f"warming up, {-measured_for:.0f} s left"
        return f"measuring, {settings.duration - measured_for:.0f} s left" if settings.duration else "running"

    def _print_plain(self, log: RunLog) -> None:
        codes = Counter(notice.code for notice in list(self._throttle.notices))
        caps = f"caps reached {codes['cap_reached']}, reopened {codes['cap_reopened']}" if codes else "no cap reached"
        rows = {row.hop: row for row in hop_latencies(log, self._shown_from(), NEWEST)}
        end_to_end = rows.get("end to end")
        latency = f"p50 {end_to_end.p50} p99 {end_to_end.p99} ms" if end_to_end else "no result yet"
        slow = self.beside.latency(self._shown_from()) if self.beside else None
        if slow and (fast := rows.get(slow.hop)):
            latency += f", decode p50 {fast.p50} ms in real-time mode, {slow.p50} ms in micro-batch mode"
        self.print_line(
            f"{time.time() - self._sent.started_at:5.0f} s {self.phase(log)}: sent {self._sent.records}, "
            f"results {len(log.results)}, rejected {len(log.rejects)}, "
            f"waiting {sum(log.waiting.values())}, pending {len(log.pending)}, "
            f"open orders {log.open_orders()}, {caps}, {latency}"
        )

    def _shown_from(self) -> float:
        """Return the send time (UTC ms) from which records count: the start of the measured part, or 0 before that."""
        measured_from = self._sent.measured_from_ms(self._settings)
        return measured_from if time.time() * 1000 >= measured_from else 0

    def _screen(self, log: RunLog, sink: Metrics | None, now: float) -> Group:
        settings, mode = self._settings, self._settings.trigger
        elapsed = time.time() - self._sent.started_at
        started_at, beside = self._sent.started_at, self.beside
        self.curves[mode] |= medians_of_run(log, started_at, NEWEST, decoded=bool(beside))
        if beside:
            self.curves["micro-batch"] |= beside.medians_by_second(started_at, NEWEST)
        rates = self.rates(log, sink, now)
        state = Text(f"{elapsed:3.0f} s  {self.phase(log)}", style="bold yellow" if self._drains_from else "bold")
        hint = "the check requires all results" if self._drains_from else "Ctrl-C ends the traffic"
        rows = hop_latencies(log, self._shown_from(), NEWEST)
        total = settings.warm_up_seconds + settings.duration if settings.duration else elapsed
        columns = max(self.console.width - LABEL_COLUMNS - VALUE_COLUMNS - 1, 10)
        return Group(
            Text(self._title, style="bold cyan"),
            state,
            Text(
                f"sent {self._sent.records:,}, results {len(log.results):,}, rejected {len(log.rejects):,}; {hint}",
                style="dim",
            ),
            _stages(rows, rates, log.waiting, sink),
            Text(
                ("decode only, same records; micro-batch: 1 batch/s; " if self.beside else "")
                + "p50 per second, 1 ms to 10 s",
                style="dim",
            ),
            *_curves(self.curves, total, columns, self._hint),
            _campaigns(self._throttle, self._sent.started_at),
        )

    def rates(self, log: RunLog, sink: Metrics | None, now: float) -> Mapping[str, float]:
        """Return the recent rate of each stage, in records per second."""
        counts = Counter(
            {
                "sent": self._sent.records,
                "kafka_to_events": len(log.events) + len(log.rejects),
                "events_to_attributed": len(log.first_result_at),
                **log.written,
                "postgres": sink.flushed if sink else 0,
            }
        )
        self._counted.append((now, counts))
        while len(self._counted) > 2 and now - self._counted[1][0] >= RATE_SECONDS:
            self._counted.popleft()
        since, before = self._counted[0]
        return {name: (counts[name] - before[name]) / max(now - since, TABLE_PERIOD_SECONDS) for name in counts}


def _grid(*columns: tuple[str, int]) -> Table:
    """
    Return a table without borders and with fixed column widths.

    The first column has text, the others have numbers.
    """
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    for number, (name, width) in enumerate(columns):
        table.add_column(name, width=width, justify="right" if number else "left", no_wrap=True)
    return table


def sparkline(medians_ms: Mapping[int, int], seconds: float, columns: int) -> str:
    """Return one character per column, whose height shows the highest median in that column."""
    per_column = max(seconds / columns, 1)
    highest: dict[int, int] = {}
    for second, median_ms in medians_ms.items():
        column = min(int(max(second, 0) / per_column), columns - 1)
        highest[column] = max(highest.get(column, 0), median_ms)
    return "".join(_block(highest[column]) if column in highest else " " for column in range(columns))


def _block(latency_ms: float) -> str:
    level = math.log10(max(latency_ms, 1)) / DECADES * (len(BLOCKS) - 1)
    return BLOCKS[min(round(level), len(BLOCKS) - 1)]


def _curves(curves_ms: Mapping[str, Mapping[int, int]], seconds: float, columns: int, hint: str) -> Iterator[Text]:
    """Yield one line per execution mode with its curve and newest value, and `hint` if there is only one mode."""
    for name, medians_ms in curves_ms.items():
        text = Text(f"{name:<{LABEL_COLUMNS}}")
        text.append(sparkline(medians_ms, seconds, columns), style=COLORS[name])
        if medians_ms:
            text.append(f" {medians_ms[max(medians_ms)]:>6,} ms", style="bold")
        yield text
    if len(curves_ms) == 1 and hint:
        yield Text(hint, style="dim")


def _campaigns(throttle: DeliveryThrottle, started_at: float) -> Table:
    """Return a table with each campaign's goal, delivered and reserved ad slots, and time of reaching the cap."""
    table = _grid(("campaign", 12), ("goal", 6), ("delivered", 9), ("reserved", 8))
    table.add_column("", width=BAR_COLUMNS, no_wrap=True)
    table.add_column("cap", no_wrap=True)
    reached = {n.campaign_id: n.at_ms for n in reversed(list(throttle.notices)) if n.code == "cap_reached"}
    for campaign_id, goal in throttle.goals.items():
        count = throttle.pacing_of(campaign_id, goal.ends_at)
        share = min(count.delivered / goal.impressions, 1)
        full, both = int(share * BAR_COLUMNS), min(share + count.reserved / goal.impressions, 1)
        bar = Text("█" * full, style="green").append("░" * (math.ceil(both * BAR_COLUMNS) - full))
        state = [f"{reached[campaign_id] / 1000 - started_at:.0f} s"] if campaign_id in reached else []
        state += [] if throttle.is_open(campaign_id) else ["stopped"]
        numbers = (f"{number:,}" for number in (goal.impressions, count.delivered, count.reserved))
        table.add_row(campaign_name(campaign_id), *numbers, bar, ", ".join(state))
    return table


def _stages(
    rows: Sequence[Latency], rates: Mapping[str, float], waiting: Mapping[str, int], sink: Metrics | None
) -> Table:
    """Return a table with the rate, the latencies and the number of waiting records of each stage."""
    known = {row.hop: row for row in rows}
    table = _grid(("stage", 33), ("records/s", 10), ("p50 ms", 9), ("p99 ms", 9), ("waiting", 9))
    for hop, text in (("kafka_to_events", "decode"), ("events_to_attributed", "correlate")):
        table.add_row(f"{text}: {hop}", *_cells(rates.get(hop, 0), known.get(hop)), f"{waiting[hop]:,}")
    table.add_row("both, Kafka to Kafka", *_cells(rates.get("events_to_attributed", 0), known.get("end to end")), "")
    for topic, text in (("ad-pacing", "caps: attributed_to_pacing"), ("ad-credits", "credit: touches_to_credit")):
        table.add_row(text, f"{rates.get(topic, 0):.0f}", "", "", "")
    if sink:
        p50_ms, p99_ms = percentiles(list(sink.oldest_ms) or [0], (0.5, 0.99))
        table.add_row("rows: PostgreSQL", f"{rates['postgres']:.0f}", f"{p50_ms:.0f}", f"{p99_ms:.0f}", "")
    return table


def _cells(rate: float, row: Latency | None) -> tuple[str, str, str]:
    return (f"{rate:.0f}", f"{row.p50:,}" if row else "-", f"{row.p99:,}" if row else "-")


def campaign_name(campaign_id: str) -> str:
    """Return the campaign's name without the run id."""
    return campaign_id.partition("-")[2]
