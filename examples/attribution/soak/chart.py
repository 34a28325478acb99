"""Draw the resources and the latency of a soak over time, one panel per question, with the lines labeled directly."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

PANELS = {
    "memory_mib": "Does a process grow? Memory, MiB",
    "jvm_mib": "Does Spark's JVM grow? Memory, MiB",
    "handles": "Do open files and connections grow?",
    "state_rows": "Does the state grow? Rows",
    "checkpoint_files": "Do the checkpoints grow? Files",
    "latency": "Does the latency grow? p50 and p99 of each minute, ms",
}
COLORS = ("#1a73e8", "#e8710a", "#188038", "#9334e6", "#d93025", "#5f6368")
LABEL_GAP = 0.075
"""Smallest distance of two labels, as a share of the height of a panel."""


def draw(content: Mapping[str, Any], folder: Path) -> Path:
    """Draw `soak.svg` from the content of `soak.json`, and return its path."""
    # Identical numbers produce an identical file, so a diff contains only real changes.
    mpl.rcParams["svg.hashsalt"] = "soak"
    mpl.rcParams["svg.fonttype"] = "none"
    panels = {group: [row for row in content["growth"] if row["group"] == group] for group in PANELS}
    figure = Figure(figsize=(8, 2.3 * len(panels)), layout="constrained")
    for axes, (group, rows) in zip(figure.subplots(len(panels), 1, sharex=True), panels.items(), strict=True):
        _panel(axes, rows, PANELS[group], is_logarithmic=group == "latency")
    axes.set_xlabel("time, minutes")
    path = folder / "soak.svg"
    figure.savefig(path, metadata={"Date": None})
    return path


def _panel(axes: Axes, rows: Sequence[Mapping[str, Any]], title: str, *, is_logarithmic: bool) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    if is_logarithmic:
        axes.set_yscale("log")
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
    """Move labels up until none covers another."""
    moved = list[float]()
    for height in heights:
        moved.append(max(height, moved[-1] + LABEL_GAP) if moved else height)
    return moved
