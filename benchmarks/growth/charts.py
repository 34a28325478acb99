"""Draw the benchmark's charts: one message per chart, with labeled lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.growth.fit import TERMS, used
from benchmarks.growth.points import BASE
from benchmarks.results.charts import save
from spark_rtm.measure import palette
from spark_rtm.measure.capacity_model import model_of

MEASURED_COLOR, MODEL_COLOR = palette.BLUE, palette.ORANGE
LINE_POINTS = 61
EQUAL_SHARE = 0.2
"""Change that is noise, because equal runs differed by as much."""


@dataclass(frozen=True)
class Chart:
    """A quantity over one input."""

    dimension: str
    quantity: str
    x_label: str
    y_label: str
    is_logarithmic: bool = True
    """Whether the input's axis is logarithmic."""


CHARTS = (
    Chart("rate", "cpu_seconds_per_million", "records/s", "CPU s per million records"),
    Chart("rate", "p99_ms", "records/s", "p99 latency, ms"),
    Chart("partitions", "busy_cores", "source partitions", "busy cores", is_logarithmic=False),
    Chart("queries", "busy_cores", "queries", "busy cores", is_logarithmic=False),
    Chart("record_bytes", "busy_cores", "bytes per record", "busy cores", is_logarithmic=False),
    Chart("state_keys", "memory_mb", "keys in the state", "memory, MB"),
    Chart("state_keys", "pause_ms", "keys in the state", "pause at a batch boundary, ms"),
)


def draw(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw each chart that has at least two points, and return the paths of the files."""
    paths = []
    for chart in CHARTS:
        rows = rows_of_chart(content["runs"], chart)
        if len({row[chart.dimension] for row in rows}) < 2:
            continue
        figure = Figure(figsize=(7, 3.2), layout="constrained")
        _draw(figure.subplots(), content, chart, rows)
        paths.append(save(figure, folder / f"growth_{chart.dimension}_{chart.quantity}.svg", "growth"))
    return paths


def rows_of_chart(rows: Sequence[Mapping[str, Any]], chart: Chart) -> list[Mapping[str, Any]]:
    """Return the points of a chart, sorted by its input. The base belongs to every dimension."""
    found = [row for row in used(rows) if row["dimension"] in (BASE, chart.dimension) and row[chart.quantity]]
    return sorted(found, key=lambda row: row[chart.dimension])


def message(chart: Chart, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a chart's title: the effect of the largest input against the smallest one."""
    first, last = rows[0], rows[-1]
    before, after = (row[chart.quantity] for row in (first, last))
    share = after / before - 1
    change = "about equal" if abs(share) < EQUAL_SHARE else f"{abs(share):.0%} {'more' if share > 0 else 'less'}"
    # The inner format rounds to three digits without an exponent.
    values = (f"{float(f'{value:.3g}'):,.10g}" for value in (before, after))
    span = f"{first[chart.dimension]:,.10g} to {last[chart.dimension]:,.10g} {chart.x_label}"
    return f"From {span}: {change} {chart.y_label.partition(',')[0]} ({' to '.join(values)})"


def _draw(axes: Axes, content: Mapping[str, Any], chart: Chart, rows: Sequence[Mapping[str, Any]]) -> None:
    axes.set_title(message(chart, rows), loc="left", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)
    if chart.is_logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
    elif chart.dimension in ("partitions", "queries"):
        axes.set_xticks(sorted({row[chart.dimension] for row in rows}))
    xs, ys = [row[chart.dimension] for row in rows], [row[chart.quantity] for row in rows]
    axes.plot(xs, ys, "o", color=MEASURED_COLOR, label="measured")
    if "model" in content and _fitted(chart.quantity) in TERMS:
        model, spaced = model_of(content), np.geomspace if chart.is_logarithmic else np.linspace
        line = spaced(xs[0], xs[-1], LINE_POINTS)
        costs = [model.predict(_fitted(chart.quantity), {**content["base"], chart.dimension: x}) for x in line]
        if chart.quantity == "cpu_seconds_per_million":
            costs = [1e6 * cost / rate for cost, rate in zip(costs, line, strict=True)]
        axes.plot(line, costs, color=MODEL_COLOR, linewidth=1.3, label="cost model")
        axes.legend(frameon=False, fontsize=9)
    axes.set_ylim(bottom=0)


def _fitted(quantity: str) -> str:
    return "busy_cores" if quantity == "cpu_seconds_per_million" else quantity
