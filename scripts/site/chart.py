"""
Draw the latency table of the README as an SVG bar chart with a logarithmic scale.

The numbers are read from the table, so the chart and the table cannot differ. The theme sets the colors.
"""

import math
import re
from html import escape

from spark_rtm.text import markdown

SECTION_TITLE = "Measured"
WIDTH_PX = 480
LABEL_WIDTH_PX = 130
VALUE_WIDTH_PX = 60
ROW_HEIGHT_PX = 24
_NUMBER = re.compile(r"[\d,]+(?:\.\d+)?")


def of_readme(text: str) -> str:
    """Return a figure of the first table below the heading `Measured`, with one bar per row and percentile."""
    line = next(heading.line for heading in markdown.headings(text) if heading.title == SECTION_TITLE)
    table = next(table for table in markdown.tables(text) if table.line > line)
    series = {cells[0]: [_number(cell) for cell in cells[1:]] for _, cells in table.rows if _is_measured(cells)}
    if not series:
        raise ValueError(
            f"README.md: the first table below {SECTION_TITLE!r} has no row of numbers; move the latencies there"
        )
    return _figure(table.header[1:], series)


def _is_measured(cells: tuple[str, ...]) -> bool:
    return all(_NUMBER.fullmatch(cell) for cell in cells[1:])


def _number(cell: str) -> float:
    return float(cell.replace(",", ""))


def _figure(percentiles: tuple[str, ...], series: dict[str, list[float]]) -> str:
    top = 10 ** math.ceil(math.log10(max(max(values) for values in series.values())))
    max_bar_px = WIDTH_PX - LABEL_WIDTH_PX - VALUE_WIDTH_PX
    height = 30 + len(percentiles) * (len(series) * ROW_HEIGHT_PX + 14)
    parts = []
    y = 24
    for exponent in range(int(math.log10(top)) + 1):
        x = LABEL_WIDTH_PX + max_bar_px * exponent / math.log10(top)
        parts.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="18" y2="{height}" class="grid"/>')
        parts.append(f'<text x="{x:.0f}" y="12" text-anchor="middle" class="tick">{10**exponent:,} ms</text>')
    for column, percentile in enumerate(percentiles):
        for number, (name, values) in enumerate(series.items()):
            length = max_bar_px * math.log10(max(values[column], 1)) / math.log10(top)
            label = f"{percentile}, {name.partition(',')[0].removesuffix(' mode')}"
            parts.append(f'<text x="{LABEL_WIDTH_PX - 8}" y="{y + 17}" text-anchor="end">{escape(label)}</text>')
            parts.append(
                f'<rect x="{LABEL_WIDTH_PX}" y="{y + 3}" width="{length:.0f}" height="{ROW_HEIGHT_PX - 6}" '
                f'class="series-{number}"/>'
            )
            parts.append(f'<text x="{LABEL_WIDTH_PX + length + 6:.0f}" y="{y + 17}">{values[column]:,.0f}</text>')
            y += ROW_HEIGHT_PX
        y += 14
    description = "; ".join(
        f"{name}: " + ", ".join(f"{p} {v:,.0f} ms" for p, v in zip(percentiles, values, strict=True))
        for name, values in series.items()
    )
    return (
        f'<figure class="chart"><svg viewBox="0 0 {WIDTH_PX} {height}" width="{WIDTH_PX}" height="{height}" role="img" '
        f'aria-label="Latency on a logarithmic scale. {escape(description)}">{"".join(parts)}</svg>'
        f'<figcaption>End-to-end latency of two hops through Kafka, on a logarithmic scale. <a href="#measured">'
        f"Numbers, machine and command</a></figcaption></figure>\n"
    )
