"""Write what a benchmark has measured to one HTML page that loads nothing, in the form of the demonstration's page."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.attribution.demo.html_page import Table, machine_of
from examples.attribution.demo.html_page import write as write_html

PROLOG = re.compile(r"^.*?(?=<svg)", re.DOTALL)
CONDITIONS, CASES, EACH_RUN = "conditions", "cases", "runs"


def write(content: Mapping[str, Any], problems: Sequence[str], charts: Sequence[Path], path: Path) -> Path:
    """Write the charts, a table of each list of the content except the single runs, and the machine."""
    hidden = {EACH_RUN} if CASES in content else set()
    verdicts = [(problem, False) for problem in problems] or [("The measurement is valid.", True)]
    tables = [_table(name, rows) for name, rows in content.items() if isinstance(rows, list) and name not in hidden]
    figure = "".join(PROLOG.sub("", chart.read_text(encoding="utf-8")) for chart in charts)
    return write_html(
        path, f"Benchmark: {path.stem}", verdicts, figure, [*tables, machine_of(content.get(CONDITIONS, {}))]
    )


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = dict.fromkeys(column for row in rows for column, value in row.items() if _is_cell(value))
    cells = [["" if row.get(column) is None else row[column] for column in columns] for row in rows]
    return Table(name.replace("_", " "), [column.replace("_", " ") for column in columns], cells)


def _is_cell(value: object) -> bool:
    return not isinstance(value, list | dict)
