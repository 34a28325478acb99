"""Draw the parts of the live screen: small curves of latencies, and one row per campaign."""

import math
from collections.abc import Iterator, Mapping

from rich.table import Table
from rich.text import Text

from examples.attribution.pacing.throttle import DeliveryThrottle

BLOCKS = "▁▂▃▄▅▆▇█"
DECADES = 4
"""Range of a block's logarithmic scale. The lowest block means one millisecond, and the full block ten seconds."""
LABEL_COLUMNS = 13
VALUE_COLUMNS = 12
BAR_COLUMNS = 24
COLORS = {"real-time": "bright_blue", "micro-batch": "yellow"}


def grid(*columns: tuple[str, int]) -> Table:
    """Return a table without lines. Columns have a fixed width: the first contains text, the others numbers."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    for number, (name, width) in enumerate(columns):
        table.add_column(name, width=width, justify="right" if number else "left", no_wrap=True)
    return table


def curve_columns(width: int) -> int:
    """Return the number of columns that a curve takes in a terminal of `width` columns."""
    return max(width - LABEL_COLUMNS - VALUE_COLUMNS - 1, 10)


def sparkline(medians_ms: Mapping[int, int], seconds: float, columns: int) -> str:
    """Return one character per column, whose height shows the highest median in that column."""
    per_column = max(seconds / columns, 1)
    highest: dict[int, int] = {}
    for second, median_ms in medians_ms.items():
        column = min(int(max(second, 0) / per_column), columns - 1)
        highest[column] = max(highest.get(column, 0), median_ms)
    return "".join(_block(highest[column]) if column in highest else " " for column in range(columns))


def _block(latency_ms: float) -> str:
    level = math.log10(max(latency_ms, 1)) / DECADES * (len(BLOCKS) - 1)
    return BLOCKS[min(round(level), len(BLOCKS) - 1)]


def curves(curves_ms: Mapping[str, Mapping[int, int]], seconds: float, columns: int, hint: str) -> Iterator[Text]:
    """Yield one line per execution mode with its curve and newest value, and `hint` if there is only one mode."""
    for name, medians_ms in curves_ms.items():
        text = Text(f"{name:<{LABEL_COLUMNS}}")
        text.append(sparkline(medians_ms, seconds, columns), style=COLORS[name])
        if medians_ms:
            text.append(f" {medians_ms[max(medians_ms)]:>6,} ms", style="bold")
        yield text
    if len(curves_ms) == 1 and hint:
        yield Text(hint, style="dim")


def campaigns(throttle: DeliveryThrottle, started_at: float) -> Table:
    """Return a table with the goal, the delivered and reserved ad slots, and the time of the cap of each campaign."""
    table = grid(("campaign", 12), ("goal", 6), ("delivered", 9), ("reserved", 8))
    table.add_column("", width=BAR_COLUMNS, no_wrap=True)
    table.add_column("cap", no_wrap=True)
    reached = {n.campaign_id: n.at_ms for n in reversed(list(throttle.notices)) if n.code == "cap_reached"}
    for campaign_id, goal in throttle.goals.items():
        count = throttle.pacing_of(campaign_id, goal.ends_at)
        share = min(count.delivered / goal.impressions, 1)
        full, held = (
            int(share * BAR_COLUMNS),
            math.ceil(min(count.reserved / goal.impressions, 1 - share) * BAR_COLUMNS),
        )
        bar = Text("█" * full, style="green").append("░" * min(held, BAR_COLUMNS - full))
        state = [f"{reached[campaign_id] / 1000 - started_at:.0f} s"] if campaign_id in reached else []
        state += [] if throttle.is_open(campaign_id) else ["stopped"]
        numbers = (f"{number:,}" for number in (goal.impressions, count.delivered, count.reserved))
        table.add_row(campaign_id.partition("-")[2], *numbers, bar, ", ".join(state))
    return table
