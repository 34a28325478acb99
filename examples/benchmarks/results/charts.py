"""
Draw what the JSON of a latency benchmark holds.

The content of the JSON arrives; an SVG and a PNG leave.
Real-time mode has two faces, the row within a batch and the row at its end, so the scale of shares opens at the tail.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = ("#1a73e8", "#e8710a", "#188038", "#9334e6", "#d93025", "#5f6368", "#12858d")
FLOOR_COLOUR = "#9aa0a6"
SHARES = (50, 90, 99, 99.9, 99.99)
SHOWN = {"p50_ms": "o", "p90_ms": "v", "p99_ms": "s", "p99.9_ms": "D", "max_ms": "x"}
WORKS = ("stateless", "stateful", "two hops")
MOST_CURVES = 8
"""With more engines than that only the percentiles are drawn."""

Cell = Mapping[str, Any]


def draw(content: Mapping[str, Any], folder: Path, stem: str) -> list[Path]:
    """Write the charts of constant arrivals, or of whatever there is; a column for each work, the floor in both."""
    # The same numbers give the same file, so that a repeated run shows as a small change.
    mpl.rcParams["svg.hashsalt"] = stem
    mpl.rcParams["svg.fonttype"] = "none"
    # Nothing can be drawn of an engine that has answered nothing.
    cells = [cell for cell in content["cells"] if cell["max_ms"] is not None]
    if not cells:
        return []
    cells = [cell for cell in cells if cell["arrivals"] == cells[0]["arrivals"]]
    works = [work for work in WORKS if any(cell["work"] == work for cell in cells)] or ["echo"]
    columns = {work: [cell for cell in cells if cell["work"] in {work, "echo"}] for work in works}
    colours = _colours(cells)
    counts = list(map(len, columns.values()))
    if max(counts) > MOST_CURVES:
        figure = Figure(figsize=(11, 1.5 * len(columns) + 0.3 * sum(counts)), layout="constrained")
        grid = figure.subplots(len(columns), 1, squeeze=False, height_ratios=counts)
        for (axes,), (work, chosen) in zip(grid, columns.items(), strict=True):
            _percentiles(axes, chosen, colours, work)
            # Below a high chart a legend at a share of the height would be far off.
            axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    else:
        figure = Figure(figsize=(5.5 * len(columns), 10), layout="constrained")
        grid = figure.subplots(3, len(columns), squeeze=False)
        for column, (work, chosen) in enumerate(columns.items()):
            _percentiles(grid[0][column], chosen, colours, work)
            _legend_below(grid[0][column], len(SHOWN))
            _distribution(grid[1][column], content, chosen, colours)
            _timeline(grid[2][column], content, chosen, colours)
    paths = [folder / f"{stem}.svg", folder / f"{stem}.png"]
    figure.savefig(paths[0], metadata={"Date": None})
    figure.savefig(paths[1], dpi=110, metadata={"Software": None})
    return paths


def _key(cell: Cell) -> str:
    return f"{cell['work']}, {cell['engine']}, {cell['rate']:g}/s {cell['arrivals']}"


def _labels(chosen: Sequence[Cell]) -> list[str]:
    """Name the engines, and the rate where it differs."""
    one_rate = len({cell["rate"] for cell in chosen}) == 1
    names = [short_name(cell["engine"]) for cell in chosen]
    return names if one_rate else [f"{name}, {cell['rate']:,g}/s" for name, cell in zip(names, chosen, strict=True)]


def short_name(engine: str) -> str:
    """Return the name of an engine; of a knob like `spark.sql.a.b = value` only `a.b = value`, which has room."""
    knob, equals, value = engine.partition(" = ")
    return f"{'.'.join(knob.split('.')[-2:])}{equals}{value}"


def _colours(cells: Sequence[Cell]) -> dict[str, str]:
    """Give each engine one colour in all charts."""
    engines = dict.fromkeys(cell["engine"] for cell in cells if cell["work"] != "echo")
    floors = {cell["engine"]: FLOOR_COLOUR for cell in cells if cell["work"] == "echo"}
    return floors | dict(zip(engines, itertools.cycle(COLOURS), strict=False))


def _percentiles(axes: Axes, chosen: Sequence[Cell], colours: Mapping[str, str], work: str) -> None:
    for place, cell in enumerate(chosen):
        colour = colours[cell["engine"]]
        for name, marker in SHOWN.items():
            label = name.removesuffix("_ms") if place == 0 else None
            axes.scatter(cell[name], place, marker=marker, color=colour, s=28, label=label)
        axes.hlines(place, cell["p50_ms"], cell["max_ms"], color=colour, linewidth=0.8)
    axes.set_yticks(range(len(chosen)), _labels(chosen))
    axes.set_ylim(len(chosen) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set(title=f"{work}: median of the runs", xlabel="ms")
    axes.grid(alpha=0.3, axis="x")


def _distribution(axes: Axes, content: Mapping[str, Any], chosen: Sequence[Cell], colours: Mapping[str, str]) -> None:
    for cell, label in zip(chosen, _labels(chosen), strict=True):
        curve = content["curves"][_key(cell)]
        shares = [-math.log10(1 - percent / 100) for percent in curve["percents"] if percent < 100]
        axes.plot(curve["ms"][: len(shares)], shares, label=label, color=colours[cell["engine"]], linewidth=1.4)
    axes.set_xscale("log")
    axes.set_yticks([-math.log10(1 - share / 100) for share in SHARES], [f"{share:g} %" for share in SHARES])
    axes.set(title="share of records answered within", xlabel="ms")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def _timeline(axes: Axes, content: Mapping[str, Any], chosen: Sequence[Cell], colours: Mapping[str, str]) -> None:
    for cell, label in zip(chosen, _labels(chosen), strict=True):
        colour = colours[cell["engine"]]
        if line := content["timelines"].get(_key(cell)):
            seconds = [number * line["bucket_seconds"] for number in range(len(line["worst_ms"]))]
            axes.plot(seconds, line["worst_ms"], color=colour, linewidth=0.7, label=label)
            axes.plot(line["ends_s"], [0.3] * len(line["ends_s"]), "|", color=colour, markersize=9)
    axes.set_yscale("log")
    axes.set(title="slowest of each 0.1 s; ticks: boundaries", xlabel="s", ylabel="ms")
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[1]:
        _legend_below(axes, 3)


def _legend_below(axes: Axes, columns: int) -> None:
    axes.legend(frameon=False, fontsize=8, ncols=columns, loc="upper center", bbox_to_anchor=(0.5, -0.15))
