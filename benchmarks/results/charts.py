"""
Draw the charts of a latency benchmark from its JSON: one message per chart, with labeled lines.

Each workload has a chart of its percentiles. A workload with timelines at one rate also has a chart of the timelines.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure

from benchmarks.results.run_result import label_of
from benchmarks.results.svg import save
from benchmarks.results.table import short_name
from spark_rtm.measure import palette

COLORS = palette.SERIES[:4]
OTHER_COLOR = palette.GREY
MARKERS = {"p50_ms": "o", "p90_ms": "v", "p99_ms": "s", "p99.9_ms": "D", "max_ms": "x"}
WRITTEN = ("p50_ms", "p99_ms", "max_ms")
"""Percentiles that are printed at the end of each row."""
MICRO_BATCH, REAL_TIME, DEFAULTS = "micro-batch", "real-time", "all of these = Spark's defaults"
RATES = "throughput"
"""The benchmark of rates, whose chart shows rates."""
NAMES_OF_SETTINGS = ("the recommended settings", "Spark's defaults")
WORKLOADS = ("stateless", "stateful", "two hops")
OURS = ("real-time", "recommended")
"""Prefixes of the emphasized engines."""
PLAIN = "{x:g}"
"""Ticks of a logarithmic scale as 1, 10, 100."""
MIN_LINE_RATIO = 1.5
"""Minimum ratio between the levels of two lines in one chart."""
MAX_LABEL = 40
"""Maximum length of a row's label; longer ones break at the equals sign."""

CaseRow = Mapping[str, Any]


def draw(content: Mapping[str, Any], folder: Path, stem: str) -> list[Path]:
    """
    Draw the charts of each workload with the baseline, and return the paths of the SVG files.

    The charts contain only the first arrival pattern.
    """
    # An engine without outputs has no latencies to draw.
    cases = [case for case in content["cases"] if case["max_ms"] is not None]
    cases = [case for case in cases if case["arrivals"] == cases[0]["arrivals"]]
    if not cases:
        return []
    if stem == RATES:
        return [save(_rates(content["limits"]), folder / f"{stem}.svg", stem)]
    paths = []
    for workload in [name for name in WORKLOADS if any(case["workload"] == name for case in cases)] or ["echo"]:
        shown = [case for case in cases if case["workload"] in {workload, "echo"}]
        name = f"{stem}_{workload.replace(' ', '_')}"
        for suffix, figure in (("", _percentiles(shown, workload)), ("_timeline", _timeline(content, shown, workload))):
            if figure:
                paths.append(save(figure, folder / f"{name}{suffix}.svg", stem))
    return paths


def _rates(limits: Sequence[CaseRow]) -> Figure:
    """Return one bar per mode for its highest sustained rate."""
    limits = sorted(
        (row for row in limits if row["workload"] != "echo"), key=lambda row: (row["workload"], -row["sustained_rate"])
    )
    figure = Figure(figsize=(8, 0.9 + 0.36 * len(limits)), layout="constrained")
    axes = figure.subplots()
    for position, row in enumerate(limits):
        axes.barh(position, row["sustained_rate"], color=COLORS[0] if _is_ours(row) else OTHER_COLOR)
        axes.annotate(
            f"{row['sustained_rate']:,g}",
            (row["sustained_rate"], position),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axes.set_yticks(range(len(limits)), [f"{row['workload']}, {row['engine']}" for row in limits], fontsize=9)
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    rates = {(row["workload"], row["engine"]): row["sustained_rate"] for row in limits}
    ratios = [
        f"{name} {rates[name, REAL_TIME] / rates[name, MICRO_BATCH]:.2g} times as many"
        for name in WORKLOADS
        if (name, REAL_TIME) in rates and (name, MICRO_BATCH) in rates
    ]
    figure.suptitle(f"Sustained records/s against micro-batch mode: {', '.join(ratios)}", fontsize=10)
    return figure


def _percentiles(cases: Sequence[CaseRow], workload: str) -> Figure:
    figure = Figure(figsize=(8, 1.4 + 0.33 * len(cases)), layout="constrained")
    axes = figure.subplots()
    for position, case in enumerate(cases):
        color = COLORS[0] if _is_ours(case) else OTHER_COLOR
        axes.hlines(position, case["p50_ms"], case["max_ms"], color=color, linewidth=0.8)
        for name, marker in MARKERS.items():
            label = None if position else name.removesuffix("_ms")
            axes.scatter(case[name], position, marker=marker, color=color, s=28, label=label)
        numbers = " / ".join(_milliseconds(case[name]).removesuffix(" ms") for name in WRITTEN)
        axes.annotate(
            numbers, (1, position), (6, 0), ("axes fraction", "data"), "offset points", va="center", fontsize=9
        )
    written = " / ".join(name.removesuffix("_ms") for name in WRITTEN)
    axes.annotate(
        f"{written}, ms", (1, -0.9), (6, 0), ("axes fraction", "data"), "offset points", va="center", fontsize=8
    )
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1), ncols=len(MARKERS), frameon=False, fontsize=8, borderpad=0)
    labels = [label if len(label) <= MAX_LABEL else label.replace(" = ", " =\n") for label in _labels(cases)]
    axes.set_yticks(range(len(cases)), labels, fontsize=9)
    axes.set_ylim(len(cases) - 0.5, -1.4)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(PLAIN)
    axes.set_xlabel("latency, ms (median of the runs)")
    axes.grid(alpha=0.3, axis="x")
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(_message(cases, workload), fontsize=10)
    return figure


def _message(cases: Sequence[CaseRow], workload: str) -> str:
    """Return a percentile chart's title, which also names percentiles at which real-time mode is slower."""
    engines = [case for case in cases if case["workload"] == workload] or cases
    by_name = {case["engine"]: case for case in engines}
    case = next(filter(_is_ours, engines), engines[0])
    half, slow = (_milliseconds(case[name]) for name in ("p50_ms", "p99.9_ms"))
    if other := by_name.get(MICRO_BATCH if case["engine"] == REAL_TIME else DEFAULTS):
        names = ("real-time mode", "micro-batch mode") if case["engine"] == REAL_TIME else NAMES_OF_SETTINGS
        found = f"{half} in {names[0]}, {_milliseconds(other['p50_ms'])} in {names[1]}"
        return f"{workload.capitalize()}: half of the records are answered within {found}"
    others = [other for other in engines if not _is_ours(other)]
    if others and REAL_TIME in by_name:
        best = min(others, key=lambda other: float(other["p99.9_ms"]))
        ratio = case["p99.9_ms"] / best["p99.9_ms"]
        compared = (
            f"{ratio:.1f} times that of {short_name(best['engine'])}" if ratio > 1 else "less than that of all others"
        )
        return f"{workload.capitalize()}: real-time mode has a p50 of {half}; its p99.9, {slow}, is {compared}"
    label = _labels(cases)[cases.index(case)]
    return f"{workload.capitalize()}: {label} answers half of the records within {half}, and 99.9% within {slow}"


def _timeline(content: Mapping[str, Any], cases: Sequence[CaseRow], workload: str) -> Figure | None:
    """Return the chart of the slowest records over time, or None without timelines or with hidden lines."""
    lines = list(_lines(content, cases))
    levels = sorted(median(line["worst_ms"]) for _, line in lines)
    is_apart = all(higher >= MIN_LINE_RATIO * lower for lower, higher in pairwise(levels))
    if not 0 < len(lines) <= len(COLORS) or not is_apart or len({case["rate"] for case in cases}) > 1:
        return None
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    axes = figure.subplots()
    for row, ((label, line), color) in enumerate(zip(lines, COLORS, strict=False)):
        worst = line["worst_ms"]
        seconds = [number * line["bucket_seconds"] for number in range(len(worst))]
        axes.plot(seconds, worst, color=color, linewidth=0.8)
        end = (seconds[-1], median(worst))
        axes.annotate(label, end, (6, 0), textcoords="offset points", color=color, va="center", fontsize=9)
        ticks, level = line["boundary_seconds"], 0.03 + 0.05 * row
        transform = axes.get_xaxis_transform()
        axes.plot(ticks, [level] * len(ticks), "|", color=color, markersize=9, transform=transform)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(PLAIN)
    # The ticks of the boundaries are below the lines.
    axes.set_ylim(bottom=min(filter(None, (value for _, line in lines for value in line["worst_ms"]))) / 2)
    axes.set(xlabel="time, s", ylabel="slowest record of each 0.1 s, ms")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    label, line = lines[0]
    slowest = f"in one run, the slowest record of {label} waits {_milliseconds(max(line['worst_ms']))}"
    figure.suptitle(f"{workload.capitalize()}: {slowest}; ticks are batch boundaries", fontsize=10)
    return figure


def _lines(content: Mapping[str, Any], cases: Sequence[CaseRow]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for case, label in zip(cases, _labels(cases), strict=True):
        if line := content["timelines"].get(label_of(case)):
            yield label, line


def _labels(cases: Sequence[CaseRow]) -> list[str]:
    """Return the label of each case: the engine, and the rate if there are several."""
    has_one_rate = len({case["rate"] for case in cases}) == 1
    names = [short_name(case["engine"]) for case in cases]
    return names if has_one_rate else [f"{name}, {case['rate']:,g}/s" for name, case in zip(names, cases, strict=True)]


def _is_ours(case: CaseRow) -> bool:
    return str(case["engine"]).startswith(OURS)


def _milliseconds(value: float) -> str:
    return f"{value:.1f} ms" if value < 9.95 else f"{value:,.0f} ms"
