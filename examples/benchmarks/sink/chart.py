"""
Draw the ratios of the flushes as bars.

What arrives are cells; what leaves is an SVG file.
Real-time sinks flush between one row and some hundreds, so these sizes stand side by side, without and with a network.
"""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from examples.benchmarks.sink.flush import BASE, METHODS, Cell

COLOURS = {"row at a time": "#9aa0a6", "executemany": "#5f6368", "copy": "#e8710a", "this class": "#1a73e8"}


def draw(cells: Sequence[Cell], path: Path) -> None:
    """Write the chart of the cold cells; a bar of 2 is twice as fast as executemany."""
    # The same cells give the same file, so that a repeated run shows as a small change.
    mpl.rcParams["svg.hashsalt"] = "sink"
    networks = list(dict.fromkeys(cell.network for cell in cells))
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, network in zip(figure.subplots(1, len(networks), squeeze=False)[0], networks, strict=True):
        shown = [cell for cell in cells if cell.network == network and cell.keys == "cold"]
        sizes = sorted({cell.rows for cell in shown})
        for place, method in enumerate(METHODS):
            heights = [cell.times_executemany for cell in shown if cell.method == method]
            left = [size + (place - 1.5) / 5 for size in range(len(sizes))]
            axes.bar(left, heights, 0.2, label=method, color=COLOURS[method])
        axes.axhline(1, color="black", linewidth=0.6)
        axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
        axes.set(title=network, xlabel="rows per flush", ylabel=f"times {BASE}")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(METHODS), frameon=False)
    figure.savefig(path, metadata={"Date": None})
