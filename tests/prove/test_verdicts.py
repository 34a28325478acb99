import json
from pathlib import Path

import pytest

from spark_rtm.prove.checks.state import STATEFUL_CALLS
from spark_rtm.prove.verdicts import GOOD, UNCHECKED, WRONG, Verdict, exit_status, line_of_call, render, summary

VERDICTS = [
    Verdict("slots", GOOD, "2 task slots needed"),
    Verdict("input", WRONG, "3 kinds end the query", "use try_cast", "references/errors_in_rows.md", "job.py", 7),
]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [([GOOD], 0), ([UNCHECKED, WRONG], 1), ([GOOD, UNCHECKED], 2)],
    ids=["all good", "wrong before unchecked", "unchecked"],
)
def test_exit_status_is_that_of_the_worst_verdict(statuses: list[str], expected: int) -> None:
    assert expected == exit_status([Verdict("mode", status, "") for status in statuses])


def test_verdicts_are_rendered_in_each_format() -> None:
    """The text has one line per verdict, JSON has the conditions, and annotations contain only what is not good."""
    content = json.loads(render(VERDICTS, "json", {"pyspark": "4.3.0"}))

    assert (
        "good      slots    2 task slots needed\n"
        "wrong     input    job.py:7: 3 kinds end the query; use try_cast; see references/errors_in_rows.md"
    ) == render(VERDICTS, "text", {})
    assert "2 verdicts: 1 good, 1 wrong" == summary(VERDICTS)
    assert {"pyspark": "4.3.0"} == content["conditions"]
    assert VERDICTS == [Verdict(**verdict) for verdict in content["verdicts"]]
    assert (
        "::error file=job.py,line=7,title=prove-input::on OSS 4.3, 3 kinds end the query; "
        "use try_cast (see references/errors_in_rows.md)"
    ) == render(VERDICTS, "github", {})
    assert "prove-input" == json.loads(render(VERDICTS, "sarif", {}))["runs"][0]["results"][0]["ruleId"]


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
