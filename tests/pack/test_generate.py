"""What is generated is right after one run, stays so, and touches nothing else."""

from pathlib import Path

import pytest

from scripts.pack import generate


def test_second_run_changes_nothing(copied: Path) -> None:
    """Generating is idempotent."""
    assert [] == generate.write_all(copied)


def test_edited_excerpt_is_restored(copied: Path) -> None:
    """Whoever edits code in a page by hand loses the edit, not the truth."""
    page = copied / "references/real_time_mode.md"
    right = page.read_text()
    page.write_text(right.replace("def assert_real_time", "def assert_nothing"))

    changed = generate.write_all(copied)

    assert right == page.read_text()
    assert [page] == changed


def test_changed_default_reaches_the_settings_table(copied: Path) -> None:
    """A default is written once, in the code."""
    page, code = copied / "references/attribution.md", copied / "examples/attribution/settings.py"
    code.write_text(code.read_text().replace("rate: float = 150", "rate: float = 151"))

    generate.write_all(copied)

    assert "| `rate` | `151` |" in page.read_text()


def test_new_page_reaches_the_router(copied: Path) -> None:
    """An assistant finds each page through SKILL.md."""
    (copied / "references/new_page.md").write_text("# New page\n\n*Read when it is new.*\n")

    generate.write_all(copied)

    assert "| [New page](references/new_page.md) | it is new |" in (copied / "SKILL.md").read_text()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<!-- generated: nonsense -->\n<!-- end -->\n", r"new_page\.md: no generated part is called 'nonsense'"),
        (
            '```python {excerpt="examples/attribution/settings.py:Gone"}\n```\n',
            r"new_page\.md: excerpt .* defines no 'Gone'",
        ),
        ("<!-- generated: settings Gone -->\n<!-- end -->\n", r"new_page\.md: .* has no class 'Gone'"),
    ],
    ids=["block", "excerpt", "settings"],
)
def test_request_for_what_does_not_exist_names_the_page(copied: Path, text: str, problem: str) -> None:
    """A mistake in a page is told with the page's name, and nothing is written."""
    (copied / "references/new_page.md").write_text("# New page\n\n" + text)

    with pytest.raises(ValueError, match=problem):
        generate.write_all(copied)
