"""The table of the queries of this repository shows what `prove` found wrong, and nothing else."""

from pathlib import Path

import pytest

from scripts.pack.tables.prove import EXAMPLES, examples
from tests.pack.tables.published import publish

CONTENT = {
    "conditions": {"command": "make prove-examples", "date": "2026-11-24", "pyspark": "4.3.0"},
    "targets": [
        {"target": "a.py:f", "verdicts": {"mode": "good", "input": "good"}},
        {"target": "b.py:g", "verdicts": {"mode": "good", "input": "wrong: a | b"}},
    ],
}


def test_queries_are_listed_with_what_is_not_good(tmp_path: Path) -> None:
    """A query whose verdicts are all good says so; others show the check and its evidence."""
    publish(tmp_path, EXAMPLES, CONTENT)

    table = examples(tmp_path, "")

    assert "| `a.py:f` | 2 | none |\n| `b.py:g` | 2 | `input` wrong: a \\| b |" in table
    assert "Output of `make prove-examples` on 2026-11-24 with PySpark 4.3.0" in table


def test_missing_results_name_the_command_that_writes_them(tmp_path: Path) -> None:
    """Without the file, the error says how to create it."""
    with pytest.raises(ValueError, match="create it with `make prove-examples`"):
        examples(tmp_path, "")
