"""Draw the README's chart, which compares the latency of both modes in the published run of `make bench-latency`."""

from pathlib import Path

from benchmarks.latency.table import COMMAND, overview_rows
from benchmarks.results import palette
from benchmarks.results.format import milliseconds, published

NAME = "references/measured/latency_overview.svg"
WIDTH, ROW, TOP, LEFT, RIGHT = 720, 26, 58, 250, 160
LIGHT = {palette.BLUE: "#a9c7f7", palette.GREY: palette.LIGHT_GREY}


def chart(root: Path) -> str:
    """Return an SVG bar chart of p50 and p99. The scale is linear, so that readers can compare the lengths of bars."""
    rows, known = overview_rows(root), published(root, "latency", COMMAND)["conditions"]
    scale = (WIDTH - LEFT - RIGHT) / max(row["p99_ms"] for row in rows)
    parts = []
    for number, row in enumerate(rows):
        y = TOP + number * ROW + (number // 2) * 14
        color = palette.BLUE if row["engine"] == "real-time" else palette.GREY
        p50, p99 = milliseconds(row["p50_ms"]), milliseconds(row["p99_ms"])
        end = LEFT + max(row["p99_ms"] * scale, 1)
        for name, fill in (("p99_ms", LIGHT[color]), ("p50_ms", color)):
            width = max(row[name] * scale, 1)
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{ROW - 7}" fill="{fill}"/>')
        state = {"stateless": "without state", "stateful": "with state"}[row["workload"]]
        parts.append(f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{state}, {row["engine"]} mode</text>')
        parts.append(f'<text x="{end + 8:.1f}" y="{y + 14}"><tspan class="b">{p50}</tspan> ms, 99% {p99} ms</text>')
    height = TOP + len(rows) * ROW + 14 + 8
    middle = "Higher" if known["repeats"] == 2 else "Median"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img">\n<style>text{{font:13px system-ui,sans-serif;fill:#202124}}.b{{font-weight:700}}'
        f".t{{font-size:15px;font-weight:700}}</style>\n"
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#fff"/>\n'
        '<text x="16" y="25" class="t">Time until 50% of the records are answered (dark), and 99% (light)</text>\n'
        f'<text x="16" y="43">{middle} of {known["repeats"]} runs, Kafka to Kafka, {known["rate"]:,g} records/s, '
        f"{known['cores']} cores</text>\n" + "\n".join(parts) + "\n</svg>\n"
    )
