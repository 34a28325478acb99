import re
from pathlib import Path

import pytest

from scripts.pack.verification import BLOCKS, ROWS, verification


def printed(root: Path) -> dict[str, int]:
    return {
        name: int(number) for name, number in re.findall(r"^\| (.*) \| (\d+) \|$", verification(root, ""), re.MULTILINE)
    }


@pytest.fixture
def page(tmp_path: Path) -> Path:
    page = tmp_path / "references/page.md"
    page.parent.mkdir()
    page.write_text("# Page\n\n```python\nprint(1)\n```\n\n## Empty\n\n")
    return page


@pytest.mark.parametrize(
    ("addition", "line"),
    [
        ("```python\nprint(spark)\n```\n", BLOCKS["run"]),
        ('~~~python {raises="X"}\nprint(spark)\n~~~\n', BLOCKS["raises"]),
        ("```sql\nselect 1\n```\n", BLOCKS["parsed"]),
        ("| a | evidence |\n|---|---|\n| b | [test](../tests/test_a.py) |\n", ROWS["executed"]),
        ("| a | evidence |\n|---|---|\n| b | [docs] |\n\n[docs]: https://a.b 'read 2026-11-23'\n", ROWS["public"]),
        ("| a | evidence |\n|---|---|\n| b | [more](#empty), [docs](https://a.b) 2026-11-23 |\n", ROWS["public"]),
        ("| a | evidence |\n|---|---|\n| b | [more](#page), [docs](https://a.b) 2026-11-23 |\n", ROWS["both"]),
        ("| a | evidence |\n|---|---|\n| b | [more](#empty) |\n", ROWS["pack"]),
    ],
)
def test_count_follows_each_addition_to_a_page(page: Path, addition: str, line: str) -> None:
    before = printed(page.parents[1])

    page.write_text(page.read_text() + addition)

    assert {**before, line: before[line] + 1} == printed(page.parents[1])


def test_rows_of_generated_tables_and_without_claims_are_not_counted(page: Path) -> None:
    row = "| a | evidence |\n|---|---|\n| b | [test](../tests/test_a.py) |\n"
    page.write_text(f"# Page\n\n<!-- generated: x -->\n{row}<!-- end -->\n\n<!-- no engine claim -->\n{row}")

    assert 0 == sum(printed(page.parents[1]).values())
