"""Draw the charts of a latency benchmark from its JSON. Each chart states one message and labels its lines."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.results import palette
from benchmarks.results.format import milliseconds

REAL_TIME_COLOR, OTHER_COLOR = palette.BLUE, palette.GREY
MARKERS = {"p50_ms": "o", "p90_ms": "v", "p99_ms": "s", "p99.9_ms": "D", "max_ms": "x"}
WRITTEN = ("p50_ms", "p99_ms", "max_ms")
"""Percentiles that are printed at the end of each row."""
MICRO_BATCH, REAL_TIME = "micro-batch", "real-time"
RATES = "throughput"
"""The benchmark whose chart shows rates instead of latencies."""
WORKLOADS = ("stateless", "stateful", "two hops")
PLAIN = "{x:g}"
"""Ticks of a logarithmic scale as 1, 10, 100."""

CaseRow = Mapping[str, Any]


def draw(content: Mapping[str, Any], folder: Path, stem: str) -> list[Path]:
    """Draw the charts of each workload and the baseline at the first rate, and return the paths of the SVG files."""
    if stem == RATES:
        return [save(_rates(content["limits"]), folder / f"{stem}.svg", stem)]
    # An engine without outputs has no latencies to draw.
    cases = [case for case in content["cases"] if case["max_ms"] is not None]
    cases = [case for case in cases if case["rate"] == cases[0]["rate"]]
    present, paths = {case["workload"] for case in cases}, list[Path]()
    for workload in [name for name in WORKLOADS if name in present] or sorted(present):
        shown = [case for case in cases if case["workload"] in {workload, "echo"}]
        path = folder / f"{stem}_{workload.replace(' ', '_')}.svg"
        paths.append(save(_percentiles(shown, workload), path, stem))
    return paths


def save(figure: Figure, path: Path, salt: str) -> Path:
    """Write a chart, and return its path. The charts of a JSON share `salt`, so equal numbers give equal files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    return path


def _axes(height: float, *, has_grid: bool = True) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    if has_grid:
        axes.grid(alpha=0.3)
    return figure, axes


def _rates(limits: Sequence[CaseRow]) -> Figure:
    """Return a bar chart of the highest sustained rate of each mode."""
    own = [row for row in limits if row["workload"] != "echo"]
    own.sort(key=lambda row: (row["workload"], -row["sustained_rate"]))
    figure, axes = _axes(0.9 + 0.36 * len(own), has_grid=False)
    rates = [row["sustained_rate"] for row in own]
    bars = axes.barh(range(len(own)), rates, color=[_color(row) for row in own])
    axes.bar_label(bars, [f"{rate:,g}" for rate in rates], padding=4, fontsize=9)
    axes.set_yticks(range(len(own)), [f"{row['workload']}, {row['engine']}" for row in own], fontsize=9)
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    by_mode = {(row["workload"], row["engine"]): row["sustained_rate"] for row in own}
    ratios = [
        f"{name} {by_mode[name, REAL_TIME] / by_mode[name, MICRO_BATCH]:.2g} times as many"
        for name in WORKLOADS
        if {(name, REAL_TIME), (name, MICRO_BATCH)} <= by_mode.keys()
    ]
    figure.suptitle(f"Sustained records/s against micro-batch mode: {', '.join(ratios)}", fontsize=10)
    return figure


def _percentiles(cases: Sequence[CaseRow], workload: str) -> Figure:
    figure, axes = _axes(1.4 + 0.33 * len(cases))
    place: dict[str, Any] = {"xytext": (6, 0), "xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    for position, case in enumerate(cases):
        axes.hlines(position, case["p50_ms"], case["max_ms"], color=_color(case), linewidth=0.8)
        for name, marker in MARKERS.items():
            label = None if position else name.removesuffix("_ms")
            axes.scatter(case[name], position, marker=marker, color=_color(case), s=28, label=label)
        numbers = " / ".join(milliseconds(case[name]) for name in WRITTEN)
        axes.annotate(numbers, (1, position), **place, va="center", fontsize=9)
    written = " / ".join(name.removesuffix("_ms") for name in WRITTEN)
    axes.annotate(f"{written}, ms", (1, -0.9), **place, va="center", fontsize=8)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1), ncols=len(MARKERS), frameon=False, fontsize=8, borderpad=0)
    axes.set_yticks(range(len(cases)), [case["engine"] for case in cases], fontsize=9)
    axes.set_ylim(len(cases) - 0.5, -1.4)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(PLAIN)
    axes.set_xlabel("latency, ms (median of the runs)")
    figure.suptitle(f"{workload.capitalize()}: {_message(cases, workload)}", fontsize=10)
    return figure


def _message(cases: Sequence[CaseRow], workload: str) -> str:
    """Return a chart's title. It compares real-time mode with micro-batch mode or the engine with the lowest p99.9."""
    by_name = {case["engine"]: case for case in cases if case["workload"] == workload}
    case = by_name.get(REAL_TIME) or next(iter(by_name.values()))
    half, slow = (milliseconds(case[name]) for name in ("p50_ms", "p99.9_ms"))
    others = [other for name, other in by_name.items() if not name.startswith(REAL_TIME)]
    if case["engine"] != REAL_TIME or not others:
        return f"{case['engine']} returns half of the results within {half} ms, and 99.9% within {slow} ms"
    if other := by_name.get(MICRO_BATCH):
        found = f"{half} ms in real-time mode, {milliseconds(other['p50_ms'])} ms in micro-batch mode"
        return f"half of the results arrive within {found}"
    best = min(others, key=lambda other: float(other["p99.9_ms"]))
    ratio = case["p99.9_ms"] / best["p99.9_ms"]
    compared = f"{ratio:.1f} times that of {best['engine']}" if ratio > 1 else "less than that of all others"
    return f"real-time mode has a p50 of {half} ms; its p99.9, {slow} ms, is {compared}"


def _color(case: CaseRow) -> str:
    return REAL_TIME_COLOR if str(case["engine"]).startswith(REAL_TIME) else OTHER_COLOR
