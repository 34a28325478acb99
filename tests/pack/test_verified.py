from collections import Counter
from pathlib import Path

import pytest

from scripts.pack.tables.verified import counts


@pytest.fixture
def page(tmp_path: Path) -> Path:
    page = tmp_path / "references/page.md"
    page.parent.mkdir()
    page.write_text("# Page\n\n```python\nprint(1)\n```\n\n## Empty\n\n")
    return page


ROW = "| a | evidence |\n|---|---|\n| b | {} |\n"
TEST = ROW.format("[test](../tests/test_a.py)")


@pytest.mark.parametrize(
    ("addition", "counted"),
    [
        ("```python\nprint(spark)\n```\n", "run"),
        ('~~~python {raises="X"}\nprint(spark)\n~~~\n', "raises"),
        (TEST, "executed"),
        (ROW.format("[docs]") + "\n[docs]: https://a.b 'read 2026-11-23'\n", "public"),
        (ROW.format("[more](#empty), [docs](https://a.b) 2026-11-23"), "public"),
        (ROW.format("[more](#page), [docs](https://a.b) 2026-11-23"), "executed"),
        (ROW.format("[more](#empty)"), "pack"),
        (f"<!-- generated: x -->\n{TEST}<!-- end -->\n\n<!-- no engine claim -->\n{TEST}", None),
    ],
)
def test_count_follows_each_addition_to_a_page(page: Path, addition: str, counted: str | None) -> None:
    """Rows of generated tables and of tables without claims are not counted."""
    page.write_text(page.read_text() + addition)

    assert Counter(["run", *filter(None, [counted])]) == counts(page.parents[1])
