"""
Draw the charts of a latency benchmark from its JSON results.

Latencies within a batch and at its end differ by orders of magnitude, so the axis for the share of records is stretched
near 100%.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.benchmarks.results.run_result import label_of
from examples.benchmarks.results.table import short_name

COLORS = ("#1a73e8", "#e8710a", "#188038", "#9334e6", "#d93025", "#5f6368", "#12858d")
BASELINE_COLOR = "#9aa0a6"
PERCENT_TICKS = (50, 90, 99, 99.9, 99.99)
MARKERS = {"p50_ms": "o", "p90_ms": "v", "p99_ms": "s", "p99.9_ms": "D", "max_ms": "x"}
WORKLOADS = ("stateless", "stateful", "two hops")
MAX_CURVES = 8
"""If there are more engines than this, the charts contain only the percentiles."""

CaseRow = Mapping[str, Any]


def draw(content: Mapping[str, Any], folder: Path, stem: str) -> list[Path]:
    """
    Draw one column of panels per workload, each with the baseline, and return the paths of the SVG and PNG files.

    If there are several arrival patterns, the chart contains only the first pattern.
    """
    # Identical numbers produce an identical file, so a diff contains only real changes.
    mpl.rcParams["svg.hashsalt"] = stem
    mpl.rcParams["svg.fonttype"] = "none"
    # An engine without outputs has no latencies to draw.
    cases = [case for case in content["cases"] if case["max_ms"] is not None]
    if not cases:
        return []
    cases = [case for case in cases if case["arrivals"] == cases[0]["arrivals"]]
    workloads = [name for name in WORKLOADS if any(case["workload"] == name for case in cases)] or ["echo"]
    columns = {name: [case for case in cases if case["workload"] in {name, "echo"}] for name in workloads}
    is_large = max(map(len, columns.values())) > MAX_CURVES
    figure = (_percentiles_only if is_large else _all_charts)(content, columns, _colors(cases))
    paths = [folder / f"{stem}.svg", folder / f"{stem}.png"]
    figure.savefig(paths[0], metadata={"Date": None})
    figure.savefig(paths[1], dpi=110, metadata={"Software": None})
    return paths


def _percentiles_only(
    _content: Mapping[str, Any], columns: Mapping[str, Sequence[CaseRow]], colors: Mapping[str, str]
) -> Figure:
    counts = list(map(len, columns.values()))
    figure = Figure(figsize=(11, 1.5 * len(columns) + 0.3 * sum(counts)), layout="constrained")
    grid = figure.subplots(len(columns), 1, squeeze=False, height_ratios=counts)
    for (axes,), (workload, cases) in zip(grid, columns.items(), strict=True):
        _percentiles(axes, cases, colors, workload)
        # The legend is to the right of its panel. Below a tall panel, the legend would be too far away.
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _all_charts(
    content: Mapping[str, Any], columns: Mapping[str, Sequence[CaseRow]], colors: Mapping[str, str]
) -> Figure:
    figure = Figure(figsize=(5.5 * len(columns), 10), layout="constrained")
    grid = figure.subplots(3, len(columns), squeeze=False)
    for column, (workload, cases) in enumerate(columns.items()):
        _percentiles(grid[0][column], cases, colors, workload)
        _legend_below(grid[0][column], len(MARKERS))
        _distribution(grid[1][column], content, cases, colors)
        _timeline(grid[2][column], content, cases, colors)
    return figure


def _labels(cases: Sequence[CaseRow]) -> list[str]:
    """Return the label of each case: the engine, and the rate if the rates differ."""
    has_one_rate = len({case["rate"] for case in cases}) == 1
    names = [short_name(case["engine"]) for case in cases]
    return names if has_one_rate else [f"{name}, {case['rate']:,g}/s" for name, case in zip(names, cases, strict=True)]


def _colors(cases: Sequence[CaseRow]) -> dict[str, str]:
    """Return the color of each engine, which is the same in all charts."""
    engines = dict.fromkeys(case["engine"] for case in cases if case["workload"] != "echo")
    baselines = {case["engine"]: BASELINE_COLOR for case in cases if case["workload"] == "echo"}
    return baselines | dict(zip(engines, itertools.cycle(COLORS), strict=False))


def _percentiles(axes: Axes, cases: Sequence[CaseRow], colors: Mapping[str, str], workload: str) -> None:
    for position, case in enumerate(cases):
        color = colors[case["engine"]]
        for name, marker in MARKERS.items():
            label = name.removesuffix("_ms") if position == 0 else None
            axes.scatter(case[name], position, marker=marker, color=color, s=28, label=label)
        axes.hlines(position, case["p50_ms"], case["max_ms"], color=color, linewidth=0.8)
    axes.set_yticks(range(len(cases)), _labels(cases))
    axes.set_ylim(len(cases) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set(title=f"{workload}: median of the runs", xlabel="latency, ms")
    axes.grid(alpha=0.3, axis="x")


def _distribution(axes: Axes, content: Mapping[str, Any], cases: Sequence[CaseRow], colors: Mapping[str, str]) -> None:
    for case, label in zip(cases, _labels(cases), strict=True):
        curve = content["curves"][label_of(case)]
        heights = [-math.log10(1 - percent / 100) for percent in curve["percents"] if percent < 100]
        axes.plot(curve["ms"][: len(heights)], heights, label=label, color=colors[case["engine"]], linewidth=1.4)
    axes.set_xscale("log")
    axes.set_yticks([-math.log10(1 - tick / 100) for tick in PERCENT_TICKS], [f"{tick:g} %" for tick in PERCENT_TICKS])
    axes.set(title="share of records answered within this latency", xlabel="latency, ms")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def _timeline(axes: Axes, content: Mapping[str, Any], cases: Sequence[CaseRow], colors: Mapping[str, str]) -> None:
    for case, label in zip(cases, _labels(cases), strict=True):
        color = colors[case["engine"]]
        if line := content["timelines"].get(label_of(case)):
            seconds = [number * line["bucket_seconds"] for number in range(len(line["worst_ms"]))]
            axes.plot(seconds, line["worst_ms"], color=color, linewidth=0.7, label=label)
            ticks = line["boundary_seconds"]
            axes.plot(ticks, [0.3] * len(ticks), "|", color=color, markersize=9)
    axes.set_yscale("log")
    axes.set(title="maximum per 0.1 s; ticks: batch boundaries", xlabel="time, s", ylabel="latency, ms")
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[1]:
        _legend_below(axes, 3)


def _legend_below(axes: Axes, columns: int) -> None:
    axes.legend(frameon=False, fontsize=8, ncols=columns, loc="upper center", bbox_to_anchor=(0.5, -0.19))
