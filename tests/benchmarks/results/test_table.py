import io

import pytest
from rich.console import Console

from benchmarks.results.summary import summarize
from benchmarks.results.table import print_cases
from tests.benchmarks.helpers import BASELINE, run_result


@pytest.mark.parametrize(
    ("width", "columns", "omitted"),
    [(48, 2, "p99, p99.9, max, times baseline"), (68, 4, "max, times baseline"), (160, 6, "")],
    ids=["48", "68", "160"],
)
def test_narrow_terminal_omits_columns_and_names_them(width: int, columns: int, omitted: str) -> None:
    results = [run_result("stateful", "real-time", [2_345] * 10), run_result("echo", BASELINE, [1] * 10)]
    output = io.StringIO()

    print_cases(summarize(results), Console(file=output, width=width))

    assert columns == output.getvalue().count("2,345")
    note = f"omitted columns, which need a wider terminal: {omitted}"
    assert (note in " ".join(output.getvalue().split())) == bool(omitted)
    assert "…" not in output.getvalue()
