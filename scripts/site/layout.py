"""
Adapt the contents list, the tables and the long names of a page to the width of the screen.

A page that consists mostly of tables is wide. Wide pages have no sidebar that lists their sections, so they keep their
contents list.
"""

import re

from spark_rtm.text import markdown

MIN_ROWS = 25
MIN_TABLE_SHARE = 0.5
ENGINE_NAMES = ("OSS", "Databricks")
_MARKS = (
    (re.compile(r"(?:runs|yes)\b"), '<span class="mark mark--yes" aria-hidden="true">✓</span> '),
    (
        re.compile(r"(?:no|at start|while running)\b(?! longer)"),
        '<span class="mark mark--no" aria-hidden="true">✗</span> ',
    ),
)
SECTIONS = "Sections: "
"""Begins the list of a page's sections, which links only the first one. On the site, it links all of them."""
_CONTENTS_ITEM = re.compile(r"- (?:\[[^\]]*\]\(#[^)]*\)[\s·:,;]*)+$")
_UNTOUCHED_OR_CODE = re.compile(r"<(?P<skip>script|pre)\b.*?</(?P=skip)>|<code>(?P<name>[^<]*)</code>", re.DOTALL)
# A line may end after a separator, and before a capital letter in a word that is too long for the screen of a phone.
_SEPARATOR = re.compile(r"(?<=[._/=,:|@-])(?=[^\s._/=,:|@-])")
_SIZE = re.compile(r'viewBox="[-\d.]+ [-\d.]+ (?P<width>[\d.]+) (?P<height>[\d.]+)"')
_LONG_WORD = re.compile(r"\w{36,}")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")


def svg_size(svg: str) -> tuple[str, str]:
    """Return the width and the height of an SVG in pixels, so that the page can reserve space while the SVG loads."""
    match = _SIZE.search(svg)
    if not match:
        raise ValueError("an SVG has no viewBox, so the page cannot reserve space for it; add a viewBox")
    return f"{float(match['width']):.0f}", f"{float(match['height']):.0f}"


def is_wide(text: str) -> bool:
    """Return whether a page has many table rows and consists mostly of tables."""
    lines = text.splitlines()
    in_tables = sum(len(line) for line in lines if line.startswith("|"))
    rows = sum(len(table.rows) for table in markdown.tables(text))
    return rows >= MIN_ROWS and in_tables >= MIN_TABLE_SHARE * sum(map(len, lines))


def adapted(text: str) -> str:
    """Return a page whose contents list is marked for the theme. Answers in engine columns get a tick or a cross."""
    sections = [heading for heading in markdown.headings(text) if heading.level > 1]
    named = " · ".join(f"[{one.title}](#{one.anchor})" for one in sections if one.level == 2)
    lines = [f"- {named}" if line.startswith(SECTIONS) else line for line in text.splitlines()]
    first = sections[0].line - 1 if sections else len(lines)
    items = [number for number in range(first) if _CONTENTS_ITEM.match(lines[number])]
    before, after = lines[:first], lines[first:]
    if items:
        before.insert(items[-1] + 1, "\n</div>\n")
        before.insert(items[0], '<div class="page-contents" markdown>\n')
    return with_marks("\n".join([*before, *after]) + "\n")


def with_marks(text: str) -> str:
    """Return a page with a tick or a cross before each answer in the engine columns of its tables."""
    lines = text.split("\n")
    for table in markdown.tables(text):
        columns = [number for number, title in enumerate(table.header) if title.partition(" ")[0] in ENGINE_NAMES]
        if len(columns) < len(ENGINE_NAMES):
            continue
        for line, cells in table.rows:
            for column in columns:
                mark = next((mark for words, mark in _MARKS if words.match(cells[column])), "")
                lines[line - 1] = lines[line - 1].replace(f"| {cells[column]} |", f"| {mark}{cells[column]} |")
    return "\n".join(lines)


def breakable(html: str) -> str:
    """Return a page's HTML with possible line breaks between the words of each name in code type."""
    return _UNTOUCHED_OR_CODE.sub(
        lambda found: found[0] if found["name"] is None else f"<code>{_with_breaks(found['name'])}</code>", html
    )


def _with_breaks(name: str) -> str:
    parts = _SEPARATOR.split(name)
    return "<wbr>".join(_LONG_WORD.sub(lambda word: _CAPITAL.sub("<wbr>", word[0]), part) for part in parts)
