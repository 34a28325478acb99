"""Print the cases of a latency benchmark as a table in the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from spark_rtm.measure.percentiles import PERCENTILES

COLUMNS = {
    **{name: name for name in ("workload", "engine", "rate")},
    **{name: f"{name}_ms" for name in PERCENTILES},
    "lowest\np99": "p99_lowest_ms",
    "highest\np99": "p99_highest_ms",
    "pause": "pause_median_ms",
    "times\nbaseline": "times_baseline",
    "speed-up vs\nmicro-batch": "speedup_over_micro_batch",
    "speed-up vs\nuntuned": "speedup_over_untuned",
    "outputs\n/record": "outputs_per_record",
    "CPU s\n/million": "cpu_seconds_per_million",
}
"""JSON key of each column. Columns without values are omitted."""


def print_cases(content: Mapping[str, Any], console: Console) -> None:
    """Print the table of the cases."""
    console.print(case_table(content["cases"]))


def case_table(cases: Sequence[Mapping[str, Any]]) -> Table:
    """Return the cases as a table of user latencies in milliseconds, the most important columns first."""
    present = {title: key for title, key in COLUMNS.items() if any(case[key] is not None for case in cases)}
    table = Table(*present, title="from due time to receipt, ms (median of the runs)", box=None)
    for case in cases:
        table.add_row(*(_text(key, case[key]) for key in present.values()))
    return table


def _text(key: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or "-"
    return format(value, ",.1f" if key.endswith("_ms") else ",g")
