"""Draw the benchmark's charts: one message per chart, with labeled lines."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.growth.fit import TERMS, used
from benchmarks.growth.points import BASE
from benchmarks.results import palette
from benchmarks.results.charts import save
from spark_rtm.commands.capacity import model_of

MEASURED_COLOR, MODEL_COLOR = palette.BLUE, palette.ORANGE
LINE_POINTS = 61
EQUAL_SHARE = 0.2
"""Changes up to this share are noise, because runs with the same inputs differed by this share."""


LOGARITHMIC, WHOLE = ("rate", "state_keys"), ("partitions", "queries")
"""Inputs with a logarithmic axis, and inputs whose axis has a tick at each value."""
LABELS = {
    "rate": "records/s",
    "partitions": "source partitions",
    "queries": "queries",
    "record_bytes": "bytes per record",
    "state_keys": "keys in the state",
    "cpu_seconds_per_million": "CPU s per million records",
    "p99_ms": "p99 latency, ms",
    "busy_cores": "busy cores",
    "memory_mb": "memory, MB",
    "pause_ms": "pause at a batch boundary, ms",
}
CHARTS = (
    ("rate", "cpu_seconds_per_million"),
    ("rate", "p99_ms"),
    ("partitions", "busy_cores"),
    ("queries", "busy_cores"),
    ("record_bytes", "busy_cores"),
    ("state_keys", "memory_mb"),
    ("state_keys", "pause_ms"),
)
"""Each chart shows a quantity over an input."""


def draw(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw each chart that has at least two points, and return the paths of the files."""
    paths = []
    for name, quantity in CHARTS:
        # The base run is a point on the chart of every input.
        rows = [row for row in used(content["runs"]) if row["dimension"] in (BASE, name) and row[quantity]]
        points = sorted(((row[name], row[quantity]) for row in rows), key=itemgetter(0))
        if len(dict(points)) > 1:
            figure = Figure(figsize=(7, 3.2), layout="constrained")
            _draw(figure.subplots(), content, name, quantity, points)
            paths.append(save(figure, folder / f"growth_{name}_{quantity}.svg", "growth"))
    return paths


def message(name: str, quantity: str, points: Sequence[tuple[float, float]]) -> str:
    """Return a chart's title, which compares the quantity at the largest input with that at the smallest input."""
    (first, before), (last, after) = points[0], points[-1]
    share = after / before - 1
    change = "about equal" if abs(share) < EQUAL_SHARE else f"{abs(share):.0%} {'more' if share > 0 else 'less'}"
    # The inner format rounds to three digits without an exponent.
    values = (f"{float(f'{value:.3g}'):,.10g}" for value in (before, after))
    span = f"{first:,.10g} to {last:,.10g} {LABELS[name]}"
    return f"From {span}: {change} {LABELS[quantity].partition(',')[0]} ({' to '.join(values)})"


def _draw(
    axes: Axes, content: Mapping[str, Any], name: str, quantity: str, points: Sequence[tuple[float, float]]
) -> None:
    axes.set_title(message(name, quantity, points), loc="left", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    axes.set(xlabel=LABELS[name], ylabel=LABELS[quantity])
    xs = [x for x, _ in points]
    if name in LOGARITHMIC:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
    elif name in WHOLE:
        axes.set_xticks(sorted(set(xs)))
    axes.plot(*zip(*points, strict=True), "o", color=MEASURED_COLOR, label="measured")
    is_per_million = quantity == "cpu_seconds_per_million"
    fitted = "busy_cores" if is_per_million else quantity
    if "model" in content and fitted in TERMS:
        model, spaced = model_of(content), np.geomspace if name in LOGARITHMIC else np.linspace
        line = spaced(xs[0], xs[-1], LINE_POINTS)
        costs = [model.predict(fitted, {**content["base"], name: x}) * (1e6 / x if is_per_million else 1) for x in line]
        axes.plot(line, costs, color=MODEL_COLOR, linewidth=1.3, label="cost model")
        axes.legend(frameon=False, fontsize=9)
    axes.set_ylim(bottom=0)
