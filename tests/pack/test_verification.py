from collections import Counter
from pathlib import Path

import pytest

from scripts.pack.checks.evidence import counts


@pytest.fixture
def page(tmp_path: Path) -> Path:
    page = tmp_path / "references/page.md"
    page.parent.mkdir()
    page.write_text("# Page\n\n```python\nprint(1)\n```\n\n## Empty\n\n")
    return page


@pytest.mark.parametrize(
    ("addition", "counted"),
    [
        ("```python\nprint(spark)\n```\n", "run"),
        ('~~~python {raises="X"}\nprint(spark)\n~~~\n', "raises"),
        ("| a | evidence |\n|---|---|\n| b | [test](../tests/test_a.py) |\n", "executed"),
        ("| a | evidence |\n|---|---|\n| b | [docs] |\n\n[docs]: https://a.b 'read 2026-11-23'\n", "public"),
        ("| a | evidence |\n|---|---|\n| b | [more](#empty), [docs](https://a.b) 2026-11-23 |\n", "public"),
        ("| a | evidence |\n|---|---|\n| b | [more](#page), [docs](https://a.b) 2026-11-23 |\n", "executed"),
        ("| a | evidence |\n|---|---|\n| b | [more](#empty) |\n", "pack"),
    ],
)
def test_count_follows_each_addition_to_a_page(page: Path, addition: str, counted: str) -> None:
    page.write_text(page.read_text() + addition)

    assert Counter({"run": 1}) + Counter({counted: 1}) == counts(page.parents[1])


def test_rows_of_generated_tables_and_without_claims_are_not_counted(page: Path) -> None:
    row = "| a | evidence |\n|---|---|\n| b | [test](../tests/test_a.py) |\n"
    page.write_text(f"# Page\n\n<!-- generated: x -->\n{row}<!-- end -->\n\n<!-- no engine claim -->\n{row}")

    assert Counter() == counts(page.parents[1])
