"""Draw a resource of a soak, or its latency, over time: one message per chart, with labeled lines."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from spark_rtm.measure import palette

GROUPS = ("memory_mib", "jvm_mib", "handles", "state_rows", "checkpoint_files", "latency")
"""Groups of rows that have a chart."""
COLORS = palette.SERIES
LABEL_GAP = 0.075
"""Minimum distance of two labels, as a share of the chart's height."""


def draw(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw the charts `soak_*.svg` from the content of `soak.json`, and return their paths."""
    # Identical numbers produce an identical file, so a diff contains only real changes.
    mpl.rcParams["svg.hashsalt"] = "soak"
    mpl.rcParams["svg.fonttype"] = "none"
    paths = []
    for group in GROUPS:
        rows = [row for row in content["growth"] if row["group"] == group]
        figure = Figure(figsize=(8, 2.8), layout="constrained")
        _draw(figure.subplots(), rows, is_logarithmic=group == "latency")
        paths.append(folder / f"soak_{group}.svg")
        figure.savefig(paths[-1], metadata={"Date": None})
    return paths


def message(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the title of a chart: which parts of the resource grow."""
    parts = {trend: [row["part"] for row in rows if row["trend"] == trend] for trend in ("grows", "grows as expected")}
    found = [
        f"{', '.join(names)} {trend if len(names) == 1 else trend.replace('grows', 'grow')}"
        for trend, names in parts.items()
        if names
    ]
    title = str(rows[0]["title"])
    return f"{title[0].upper()}{title[1:]}: {'; '.join(found) or 'nothing grows'}"


def _draw(axes: Axes, rows: Sequence[Mapping[str, Any]], *, is_logarithmic: bool) -> None:
    axes.set_title(message(rows), loc="left", fontsize=10)
    axes.set_xlabel("time, minutes")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    if is_logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    for row, color in zip(rows, COLORS, strict=False):
        axes.plot(range(len(row["minutes"])), row["minutes"], color=color, linewidth=1.3)
    axes.autoscale_view()
    if not is_logarithmic:
        axes.set_ylim(bottom=0)
    ends = [axes.transAxes.inverted().transform(axes.transData.transform((0, row["minutes"][-1])))[1] for row in rows]
    heights = dict(zip(sorted(range(len(ends)), key=ends.__getitem__), _apart(sorted(ends)), strict=True))
    for number, (row, color) in enumerate(zip(rows, COLORS, strict=False)):
        trend = "" if row["trend"] == "steady" else f" ({row['trend']})"
        label = f"{row['part'].removesuffix('_ms')}{trend}"
        axes.text(1.01, heights[number], label, color=color, transform=axes.transAxes, va="center", fontsize=8)


def _apart(heights: Sequence[float]) -> list[float]:
    """Move labels apart until they do not overlap."""
    moved = list[float]()
    for height in heights:
        moved.append(max(height, moved[-1] + LABEL_GAP) if moved else height)
    return moved
