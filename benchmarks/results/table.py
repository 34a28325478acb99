"""Print the cases of a latency benchmark as a table in the terminal."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.table import Table

from spark_rtm.measure.percentiles import PERCENTILES

MAX_ENGINE_WIDTH = 44
COLUMN_NAMES = {
    "pause": "pause_median_ms",
    "times\nbaseline": "times_baseline",
    "speed-up vs\nmicro-batch": "speedup_over_micro_batch",
    "speed-up vs\nuntuned": "speedup_over_untuned",
    "outputs\n/record": "outputs_per_record",
    "CPU s\n/million": "cpu_seconds_per_million",
}
"""JSON keys of the columns after the percentiles. Columns without values are omitted."""

CaseRow = Mapping[str, Any]


def print_cases(content: Mapping[str, Any], console: Console) -> None:
    """Print the table of the cases."""
    console.print(case_table(content["cases"]))


def case_table(cases: Sequence[CaseRow]) -> Table:
    """Return the cases as a table of user latencies in milliseconds, the most important columns first."""
    loads = {_load(case) for case in cases}
    columns: dict[str, Callable[[CaseRow], str]] = {
        "workload": lambda case: case["workload"],
        "engine": lambda case: short_name(case["engine"]),
    }
    if len(loads) > 1:
        columns["load"] = _load
    columns |= {name: partial(_number, f"{name}_ms", ",.1f") for name in PERCENTILES}
    present = {title: key for title, key in COLUMN_NAMES.items() if any(case[key] is not None for case in cases)}
    columns |= {title: partial(_number, key, ",g") for title, key in present.items()}
    if any(case["p50_lowest_ms"] != case["p50_highest_ms"] for case in cases):
        columns |= {f"{name}\nof runs": partial(_range, name) for name in ("p50", "p99")}
    load = f" at {loads.pop()}" if len(loads) == 1 else ""
    table = Table(title=f"from due time to receipt, ms (median of the runs){load}", box=None)
    for title in columns:
        table.add_column(title, no_wrap=True, max_width=MAX_ENGINE_WIDTH)
    for case in cases:
        table.add_row(*(text(case) for text in columns.values()))
    return table


def short_name(engine: str) -> str:
    """Shorten the name of a setting: `spark.sql.a.b = value` becomes `a.b = value`."""
    setting, equals, value = engine.partition(" = ")
    return f"{'.'.join(setting.split('.')[-2:])}{equals}{value}"


def _load(case: CaseRow) -> str:
    return f"{case['rate']:g}/s {case['arrivals']}"


def _range(name: str, case: CaseRow) -> str:
    lowest, highest = (_number(f"{name}_{end}_ms", ",.1f", case) for end in ("lowest", "highest"))
    return lowest if lowest == highest else f"{lowest}-{highest}"


def _number(key: str, form: str, case: CaseRow) -> str:
    return "-" if case[key] is None else format(case[key], form)
