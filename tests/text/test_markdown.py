"""Pages are read as people and browsers read them, and no fence hides."""

import pytest

from scripts.text.markdown import fences, headings, links, prose, tables

TICKS = "```"


@pytest.mark.parametrize(
    ("page", "code"),
    [
        (f"{TICKS}python\na = 1\n{TICKS}\n", "a = 1\n"),
        ("~~~python\na = 1\n~~~\n", "a = 1\n"),
        (f"> {TICKS}python\n> a = 1\n> {TICKS}\n", "a = 1\n"),
        (f"- item\n\n  {TICKS}python\n  a = 1\n  {TICKS}\n", "a = 1\n"),
        (f"- {TICKS}python\n  if a:\n      b\n  {TICKS}\n", "if a:\n    b\n"),
        (f"{TICKS}`python\n{TICKS}\na\n{TICKS}`\n", f"{TICKS}\na\n"),
        (f"{TICKS}python\na = 1\n", "a = 1\n"),
        (f"{TICKS}Python title='x'\na = 1\n{TICKS}\n", "a = 1\n"),
        (f"{TICKS}{{.python raises='X'}}\na = 1\n{TICKS}\n", "a = 1\n"),
    ],
    ids=["ticks", "tildes", "quoted", "in-list", "on-bullet", "four-ticks", "never-closed", "upper-case", "braces"],
)
def test_fence_in_any_form_is_found_with_its_code(page: str, code: str) -> None:
    """However a page writes a block of code, the code is read without marks and indentation."""
    [fence] = fences(page)

    assert code == fence.code
    assert fence.is_python or fence.language == ""


def test_ticks_inside_a_line_are_no_fence() -> None:
    """Code inside a sentence is not a block."""
    assert [] == fences(f"{TICKS}a{TICKS} is code\n`b`\n")


def test_options_are_read_with_their_values() -> None:
    """Names, quoted values and values with blanks and dots are kept as written."""
    [fence] = fences(f'{TICKS}python {{raises="A.B" title="two words" mode=batch}}\nx\n{TICKS}\n')

    assert {"raises": "A.B", "title": "two words", "mode": "batch"} == fence.options
    assert "python" == fence.language


def test_line_numbers_lead_to_the_page() -> None:
    """A finding about a line of code can name the line of the page."""
    [fence] = fences(f"# T\n\n{TICKS}python\na\nb\n{TICKS}\nafter\n")

    assert (3, 4, 6) == (fence.line, fence.first_code_line, fence.end_line)


def test_prose_keeps_its_line_numbers_and_drops_code() -> None:
    """What stands in a fence is no prose."""
    assert ["# T", "", "", "", "after"] == prose(f"# T\n{TICKS}python\na\n{TICKS}\nafter\n")


def test_comment_in_code_is_no_heading() -> None:
    """A hash in a shell block starts a comment, not a section."""
    found = headings(f"# One\n\n{TICKS}bash\n# two\n{TICKS}\n\n## `Three` & four\n")

    assert [("One", "one"), ("`Three` & four", "three--four")] == [(h.title, h.anchor) for h in found]


def test_links_are_found_outside_of_code_only() -> None:
    """An example of a link in code is not followed."""
    page = "[a](b.md#c) and `[x](y.md)` and ![i](p.png) and [r]\n\n[r]: <ref.md>\n"

    assert ["b.md#c", "p.png", "ref.md"] == [link.target for link in links(page)]


def test_bar_in_code_does_not_divide_a_cell() -> None:
    """Tables about code contain bars."""
    [table] = tables("text\n\n| a | b |\n|---|:-:|\n| `x|y` | 1 \\| 2 |\n| 3 | 4 |\n\nafter\n")

    assert ("a", "b") == table.header
    assert [(5, ("`x|y`", "1 | 2")), (6, ("3", "4"))] == table.rows
