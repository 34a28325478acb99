"""Write the results of a run to an HTML page with a timeline of latencies and tables. The page is self-contained."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from examples.attribution.audit.latency import latencies_by_second
from examples.attribution.audit.reconciliation import Reconciliation
from examples.attribution.audit.run_log import RunLog
from examples.attribution.demo.report import (
    Report,
    campaigns_of,
    comparison_of_modes,
    counts_of,
    latencies_of,
    verdict,
)
from spark_rtm.measure import palette
from spark_rtm.measure.page import Table, machine_of, write

PAGE = Path("build/demo.html")
COLORS = {"real-time": palette.BLUE, "micro-batch": palette.ORANGE}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 1000, 320, 76, 20, 36, 40


@dataclass(frozen=True)
class Series:
    """A line for the median and a line for the maximum latency (ms) of each second since the first record."""

    name: str
    seconds: Mapping[int, tuple[int, int]]
    boundaries: Sequence[tuple[str, float, int]] = ()
    """The query, the second and the length in ms of each pause between two batches."""
    part: str = ""
    """The measured part of the path, or an empty string for the whole path."""


Fault = tuple[str, float, float | None]
"""The kind of a fault, when it began (s), and the seconds until results flowed again, or None without recovery."""


def timeline(series: Sequence[Series], faults: Sequence[Fault] = ()) -> str:
    """Return an SVG of latencies by second. Ticks mark batch boundaries, and red areas mark faults until recovery."""
    last = max([1, *(second for each in series for second in each.seconds)])
    highest = max([10, *(value for each in series for pair in each.seconds.values() for value in pair)])
    decades = math.ceil(math.log10(highest))

    def x(second: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(max(second, 0), last) / last

    def y(latency_ms: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log10(max(latency_ms, 1)) / decades

    parts = []
    for decade in range(decades + 1):
        at, text = y(10**decade), f"{10**decade:,} ms"
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#dadce0"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{text}</text>')
    parts += [
        f'<text x="{x(second):.1f}" y="{HEIGHT - 6}" text-anchor="middle">{second} s</text>'
        for second in range(0, last + 1, max(10, last // 100 * 10))
    ]
    for number, (kind, began_at, seconds) in enumerate(faults):
        start, end = x(began_at), x(last if seconds is None else began_at + seconds)
        gap = "no recovery" if seconds is None else f"{seconds:.1f} s"
        parts.append(
            f'<rect x="{start:.1f}" y="{TOP}" width="{max(end - start, 1):.1f}" height="{HEIGHT - TOP - BOTTOM}" '
            f'fill="{palette.RED}" opacity=".15"/><text x="{start + 2:.1f}" y="{TOP + 12 + 14 * (number % 4)}">'
            f"{escape(kind)}: {gap}</text>"
        )
    for number, each in enumerate(series):
        parts += _lines(each, number, x, y)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Latency by second">{"".join(parts)}</svg>'


def _lines(series: Series, number: int, x: Any, y: Any) -> Iterator[str]:
    color = COLORS.get(series.name, palette.BLUE)
    known = sorted(series.seconds.items())
    for index, opacity in ((1, 0.35), (0, 1)):
        points = " ".join(f"{x(second):.1f},{y(pair[index]):.1f}" for second, pair in known)
        yield f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.6" opacity="{opacity}"/>'
    for query, second, pause_ms in series.boundaries:
        yield (
            f'<line x1="{x(second):.1f}" x2="{x(second):.1f}" y1="{HEIGHT - BOTTOM + 2}" y2="{HEIGHT - BOTTOM + 12}" '
            f'stroke="{color}" stroke-width="2"><title>{escape(query)}: {pause_ms} ms</title></line>'
        )
    place, name = f'x="{LEFT + number * 380}" y="14"', escape(series.name + series.part)
    yield f'<text {place} style="fill:{color}">{name}: p50, and the slowest record (light)</text>'


def write_demo(
    reports: Sequence[Report],
    machine: Mapping[str, object],
    path: Path = PAGE,
    title: str = "Ad attribution: results of the demonstration",
    tables: Sequence[Table] = (),
) -> Path:
    """Write the page of one run, or of one run per mode, and return its path. `tables` follow the runs' tables."""
    verdicts, shown = list[tuple[str, bool]](), list[Table]()
    for report in reports:
        mode, outcome = report.settings.trigger, report.reconciliation
        text = f"{mode} mode: {verdict(outcome, report.log).plain}"
        verdicts.append((text, bool(outcome.results) and not outcome.differences))
        verdicts += [(sentence, True) for sentence in comparison_of_modes(report)]
        found = (latencies_of(report), campaigns_of(report), counts_of(outcome), differences_of(outcome))
        shown += [replace(table, title=f"{table.title}, {mode} mode") for table in found]
    figure = timeline([each for report in reports for each in _series(report)])
    return write(path, title, verdicts, figure, [*shown, *tables, machine_of(machine)])


def _series(report: Report) -> Iterator[Series]:
    beside, started_at = report.beside, report.sent.started_at
    seconds = latencies_by_second(report.log, started_at, decoded=beside is not None)
    part = ", decode" if beside else ""
    yield Series(report.settings.trigger, seconds, report.boundaries, part)
    if beside:
        yield Series("micro-batch", beside.by_second(started_at), part=part)


def differences_of(outcome: Reconciliation) -> Table:
    """Return the table of differences from the replay. The table is empty for a correct run."""
    return Table("Differences", ("difference",), [(text,) for text in outcome.differences])


def started_at(log: RunLog) -> float:
    """Return the send time of the first record, in epoch seconds."""
    return min((source.t0 for source in log.sources.values()), default=0) / 1000
