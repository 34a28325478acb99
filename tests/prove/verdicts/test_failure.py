from pathlib import Path

import pytest

from spark_rtm.prove.checks.state import STATEFUL_CALLS
from spark_rtm.prove.verdicts.failure import line_of_call


@pytest.mark.parametrize(
    ("code", "default", "expected"),
    [
        ("a = 1\nb.groupBy('k')\n", 1, 2),
        ("b.groupBy('k')\na = 1\n", 2, 1),
        ("a = 1\n", 1, 1),
        ("a = b.groupBy('k')\na.start()\n# b.groupBy('k')\nb.groupBy('k')\n", 2, 1),
        ("a.groupBy('k')\ndef f(b):\n  # b.groupBy('k')\n  b.groupBy('k')\n", 2, 4),
    ],
    ids=["below the function", "above the function", "nowhere", "above the start", "not in a comment"],
)
def test_line_of_a_call_is_searched_below_the_function_first(
    code: str, default: int, expected: int, tmp_path: Path
) -> None:
    path = tmp_path / "job.py"
    path.write_text(code)

    assert expected == line_of_call(path, STATEFUL_CALLS, default)
