"""Draw how much CPU time each change saves or costs; each bar carries its own name, so the chart needs no legend."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.results.svg import save
from benchmarks.settings.compare import helps, is_untouched, noise
from spark_rtm.measure import palette

SAVING_COLOR, OTHER_COLOR = palette.LIGHT_GREEN, palette.LIGHT_GREY


def draw(content: Mapping[str, Any], folder: Path, stem: str) -> list[Path]:
    """Draw the CPU time of each change relative to the untouched query, one panel per workload; return the file."""
    changed = [case for case in content["cases"] if case["cpu_ratio"] and not is_untouched(case["engine"])]
    if not changed:
        return []
    workloads = list(dict.fromkeys(case["workload"] for case in changed))
    panels = [[case for case in changed if case["workload"] == workload] for workload in workloads]
    figure = Figure(figsize=(9, 0.9 + 0.32 * len(changed) + 0.5 * len(panels)), layout="constrained")
    figure.suptitle("Changes that save more CPU time than equal runs differ are green", fontsize=11)
    grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=[len(panel) + 1 for panel in panels])
    highest = max(case["cpu_ratio"] for case in changed)
    for (axes,), workload, panel in zip(grid, workloads, panels, strict=True):
        share = noise(content["runs"], workload)
        ordered = sorted(panel, key=lambda case: case["cpu_ratio"])
        for row, case in enumerate(ordered):
            ratio = case["cpu_ratio"]
            axes.barh(row, ratio, color=SAVING_COLOR if helps(case, share) else OTHER_COLOR)
            axes.text(0.01, row, f"{case['engine']}: {ratio:.2f}x", va="center", fontsize=9)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_ylim(len(ordered) - 0.4, -0.6)
        axes.set_xlim(0, max(1.05, 1.02 * highest))
        axes.set_yticks([])
        axes.set_title(workload, loc="left", fontsize=10)
        axes.spines[["top", "right", "left"]].set_visible(False)
    grid[-1][0].set_xlabel("CPU time per record, relative to the untouched query (line at 1)")
    return [save(figure, folder / f"{stem}.svg", stem)]
