import pytest

from spark_rtm.text.markdown import fences, headings, links, prose, replace_code_spans, tables

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
def test_fence_in_any_form_is_parsed_with_its_code(page: str, code: str) -> None:
    [fence] = fences(page)

    assert code == fence.code
    assert fence.is_python or fence.language == ""


def test_backticks_inside_a_line_are_not_a_fence() -> None:
    assert () == fences(f"{TICKS}a{TICKS} is code\n`b`\n")


def test_fence_options_are_parsed_with_their_values() -> None:
    [fence] = fences(f'{TICKS}python {{raises="A.B" title="two words" mode=batch}}\nx\n{TICKS}\n')

    assert {"raises": "A.B", "title": "two words", "mode": "batch"} == fence.options
    assert "python" == fence.language


def test_prose_keeps_line_numbers_and_drops_code() -> None:
    assert ["# T", "", "", "", "after"] == prose(f"# T\n{TICKS}python\na\n{TICKS}\nafter\n")


def test_comment_in_code_is_not_a_heading() -> None:
    sections = headings(f"# One\n\n{TICKS}bash\n# two\n{TICKS}\n\n## `Three` & four\n")

    assert [("One", "one"), ("`Three` & four", "three--four")] == [(h.title, h.anchor) for h in sections]


def test_links_inside_code_are_ignored() -> None:
    page = "[a](b.md#c) and `[x](y.md)` and ![i](p.png) and [r]\n\n[r]: <ref.md>\n"

    assert ["b.md#c", "p.png", "ref.md"] == [link.target for link in links(page)]


def test_bar_in_code_does_not_separate_cells() -> None:
    [table] = tables("text\n\n| a | b |\n|---|:-:|\n| `x|y` | 1 \\| 2 |\n| 3 | 4 |\n\nafter\n")

    assert ("a", "b") == table.header
    assert [(5, ("`x|y`", "1 | 2")), (6, ("3", "4"))] == table.rows


def test_code_span_ends_at_next_run_of_same_length() -> None:
    assert "x and `` x" == replace_code_spans("`a``b` and `` ```c`d```", lambda _: "x")


@pytest.mark.parametrize(
    ("line", "title"), [("# a  ##  ", "a"), ("# a#", "a#"), ("# #", "#"), ("# a # b ##", "a # b"), ("#   a", "a")]
)
def test_heading_title_omits_closing_marks(line: str, title: str) -> None:
    """Number signs after a blank at the end of a heading do not belong to its title."""
    assert [title] == [heading.title for heading in headings(line)]
