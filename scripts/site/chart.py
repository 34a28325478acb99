"""
Draw the README's table of latencies as bars on a logarithmic scale.

The text of the README arrives; SVG leaves. Its colours are those of the theme, and its numbers are the table's own.
"""

import math
import re
from html import escape

from scripts.text import markdown

SECTION = "Measured"
WIDTH, LABELS, ROW = 480, 130, 24
_NUMBER = re.compile(r"[\d,]+(?:\.\d+)?")


def of_readme(text: str) -> str:
    """Return a figure of the first table below the heading `Measured`, with a bar for each percentile of each row."""
    line = next(heading.line for heading in markdown.headings(text) if heading.title == SECTION)
    table = next(table for table in markdown.tables(text) if table.line > line)
    series = {cells[0]: [_number(cell) for cell in cells[1:]] for _, cells in table.rows if _is_measured(cells)}
    if not series:
        raise ValueError(f"README.md, {SECTION!r}: its first table has no row of numbers to draw; put it first")
    return _figure(table.header[1:], series)


def _is_measured(cells: tuple[str, ...]) -> bool:
    return all(_NUMBER.fullmatch(cell) for cell in cells[1:])


def _number(cell: str) -> float:
    return float(cell.replace(",", ""))


def _figure(percentiles: tuple[str, ...], series: dict[str, list[float]]) -> str:
    top = 10 ** math.ceil(math.log10(max(max(values) for values in series.values())))
    room = WIDTH - LABELS - 60
    height = 30 + len(percentiles) * (len(series) * ROW + 14)
    parts, y = [], 24
    for exponent in range(int(math.log10(top)) + 1):
        x = LABELS + room * exponent / math.log10(top)
        parts.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="18" y2="{height}" class="grid"/>')
        parts.append(f'<text x="{x:.0f}" y="12" text-anchor="middle" class="tick">{10**exponent:,} ms</text>')
    for column, percentile in enumerate(percentiles):
        for number, (name, values) in enumerate(series.items()):
            length = room * math.log10(max(values[column], 1)) / math.log10(top)
            label = f"{percentile}, {name.partition(',')[0].removesuffix(' mode')}"
            parts.append(f'<text x="{LABELS - 8}" y="{y + 17}" text-anchor="end">{escape(label)}</text>')
            parts.append(
                f'<rect x="{LABELS}" y="{y + 3}" width="{length:.0f}" height="{ROW - 6}" class="series-{number}"/>'
            )
            parts.append(f'<text x="{LABELS + length + 6:.0f}" y="{y + 17}">{values[column]:,.0f}</text>')
            y += ROW
        y += 14
    said = "; ".join(
        f"{name}: " + ", ".join(f"{p} {v:,.0f} ms" for p, v in zip(percentiles, values, strict=True))
        for name, values in series.items()
    )
    return (
        f'<figure class="chart"><svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="Latency on a logarithmic scale. {escape(said)}">{"".join(parts)}</svg>'
        f'<figcaption>Two hops through Kafka, end to end, logarithmic scale; <a href="#measured">numbers, machine and '
        f"command</a></figcaption></figure>\n"
    )
