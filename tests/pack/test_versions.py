"""The versions of Spark that `make radar` recorded are compared correctly."""

import pytest

from scripts.pack import files
from scripts.pack.tables.versions import since, with_since


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ({"4.1.1": "runs", "4.2.0": "runs", "4.3.0": "runs"}, "4.1"),
        ({"4.1.1": "runs", "4.2.0": "`A`", "4.3.0": "runs"}, "4.3"),
        ({"4.1.1": "runs", "4.2.0": "`A`", "4.3.0": "`B`"}, "4.2"),
        ({"4.3.0": "runs"}, "4.3"),
        ({"4.2.0": None, "4.3.0": "runs"}, "-"),
    ],
    ids=["always", "only-before-and-now", "another-message", "one-version", "not-run"],
)
def test_row_holds_since_its_newest_outcome_began(outcomes: dict[str, str | None], expected: str) -> None:
    assert expected == since(outcomes)


def test_wrong_cell_of_the_column_since_is_replaced() -> None:
    page = (files.ROOT / "references/sources_sinks_operators.md").read_text(encoding="utf-8")
    old = '| `format("kafka")` | runs | 4.1 |'
    assert old in page

    assert page == with_since(files.ROOT, page.replace(old, old.replace("4.1", "4.2"), 1))
