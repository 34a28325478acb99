"""Render the JSON of `make bench-boundary` as a Markdown table; before the first publication, the block is empty."""

from pathlib import Path

from scripts.pack.tables.format import conditions, measured_or_none, table

BOUNDARY = "references/measured/boundary.json"
BENCHMARK = "bench-boundary"


def phases(root: Path, _: str) -> str:
    """Return the conditions, a table with the phases of one boundary per case, and the chart, or an empty text."""
    if not (content := measured_or_none(root, BOUNDARY)):
        return ""
    names = list(content["cases"][0]["typical"]["shares_ms"])
    header = ("settings", "boundaries", "longest wait: median / max", "longest wait of one boundary", *names)
    rows = [
        (
            *(case["engine"], str(case["boundaries"]), f"{case['wait_median_ms']:,.0f} / {case['wait_max_ms']:,.0f}"),
            *(f"{case['typical']['wait_ms']:,.0f}", *(f"{case['typical']['shares_ms'][name]:.0f}" for name in names)),
        )
        for case in content["cases"]
    ]
    clients = f"Kafka connector {content['conditions']['kafka_connector']}"
    unit = "Times are in ms. The phases are those of the boundary with the median wait."
    text = conditions(content, BENCHMARK, clients, unit)
    return f"{text}\n{table(header, rows)}\n![Timeline of one batch boundary](measured/boundary.svg)\n"
