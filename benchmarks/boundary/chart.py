"""Draw the timeline of one batch boundary with a label on each bar."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.boundary.phases import DRIVER, PHASES, RECORD, SOURCE, STATE
from benchmarks.results.svg import save
from spark_rtm.measure import palette

COLORS = {DRIVER: palette.GREY, SOURCE: palette.BLUE, STATE: palette.ORANGE, RECORD: palette.GREEN}
WAIT_COLOR = palette.RED
MIN_LABEL_MS = 0.5


def draw(cases: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """
    Draw the typical boundary of the first case, and return the path of the file.

    The phases are listed below the wait of the slowest record.
    """
    if not cases:
        return []
    boundary = cases[0]["typical"]
    wait_ms, spans = boundary["wait_ms"], boundary["spans"]
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    axes = figure.subplots()
    axes.barh(0, wait_ms, height=0.7, color=WAIT_COLOR)
    axes.text(wait_ms / 2, 0, f"slowest record waits {wait_ms:.0f} ms", ha="center", va="center", color="white")
    for row, name in enumerate(PHASES, 1):
        start, end = spans[name]
        axes.barh(row, max(end - start, MIN_LABEL_MS), left=start, height=0.7, color=COLORS[PHASES[name]])
        is_left = end > wait_ms * 0.6
        text = f"  {name}: {end - start:.0f} ms  "
        axes.text(start if is_left else end, row, text, ha="right" if is_left else "left", va="center", fontsize=9)
    for row, (part, color) in enumerate(COLORS.items()):
        axes.text(1.0, 0.87 - 0.05 * row, part, transform=axes.transAxes, ha="right", color=color, weight="bold")
    axes.set_ylim(len(PHASES) + 0.6, -0.6)
    axes.set_xlim(min(0.0, *(start for start, _ in spans.values())) - 2, wait_ms * 1.02)
    axes.set_yticks([])
    axes.set_xlabel("ms after the slowest record was due")
    driver_ms = sum(spans[name][1] - spans[name][0] for name, part in PHASES.items() if part == DRIVER)
    axes.set_title(f"One batch boundary: {driver_ms / wait_ms:.0%} of the wait is spent in the driver", fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return [save(figure, folder / "boundary.svg", "boundary")]
