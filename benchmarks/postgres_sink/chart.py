"""Draw the flush measurements as a bar chart with one panel per network."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.postgres_sink.flush import METHODS, REFERENCE_METHOD, FlushCase
from benchmarks.results.svg import save
from spark_rtm.measure import palette

COLORS = {
    "row at a time": palette.MEDIUM_GREY,
    "executemany": palette.GREY,
    "copy": palette.ORANGE,
    "PostgresUpsertSink": palette.BLUE,
}


def draw(cases: Sequence[FlushCase], folder: Path) -> list[Path]:
    """Draw the cases with cold keys, and return the path of the file. A bar of 2 means twice as fast as executemany."""
    if not cases:
        return []
    networks = list(dict.fromkeys(case.network for case in cases))
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, network in zip(figure.subplots(1, len(networks), squeeze=False)[0], networks, strict=True):
        cold = [case for case in cases if case.network == network and case.keys == "cold"]
        sizes = sorted({case.rows for case in cold})
        for position, method in enumerate(METHODS):
            heights = [case.times_executemany for case in cold if case.method == method]
            left = [size + (position - 1.5) / 5 for size in range(len(sizes))]
            axes.bar(left, heights, 0.2, label=method, color=COLORS[method])
        axes.axhline(1, color="black", linewidth=0.6)
        axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
        axes.set(title=network, xlabel="rows per flush", ylabel=f"speed relative to {REFERENCE_METHOD}")
    ours = [case for case in cases if case.method == "PostgresUpsertSink" and case.keys == "cold"]
    best = max(ours or cases, key=lambda case: case.times_executemany)
    figure.suptitle(
        f"{best.method} writes up to {best.times_executemany:.1f} times as fast as {REFERENCE_METHOD} ({best.network})",
        fontsize=10,
    )
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(METHODS), frameon=False)
    return [save(figure, folder / "postgres_sink.svg", "sink")]
