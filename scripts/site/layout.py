"""
Adapt a page to the screen's width: contents list, wide tables with a filter, line breaks in long names.

Raw pages lack these parts. A page that consists mostly of tables is wide: it has no sidebar with its sections, so it
keeps its contents list, and a form filters the rows of its tables.
"""

import re
from pathlib import Path

from spark_rtm.text import markdown

MIN_ROWS = 25
MIN_TABLE_SHARE = 0.5
FILTER_MARK = "<!-- site: table_filter -->"
FILTER_ID = 'id="table-filter"'
_CONTENTS_ITEM = re.compile(r"- (?:\[[^\]]*\]\(#[^)]*\)[\s·:,;]*)+$")
_BOTH_ENGINES = re.compile(r"\bOSS\b.*\bDatabricks\b|\bDatabricks\b.*\bOSS\b|(?:^|\|)engine(?:\||$)")
_FILTER = Path(__file__).with_name("tools") / "table_filter.html"
_ENGINE_CHOICE = re.compile(r"<!-- engine -->\n.*?<!-- end -->\n", re.DOTALL)
_UNTOUCHED_OR_CODE = re.compile(r"<(?P<skip>script|pre)\b.*?</(?P=skip)>|<code>(?P<name>[^<]*)</code>", re.DOTALL)
# A line may end after a separator, and before a capital letter in a word that is too long for the screen of a phone.
_SEPARATOR = re.compile(r"(?<=[._/=,:|@-])(?=[^\s._/=,:|@-])")
_LONG_WORD = re.compile(r"\w{36,}")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")


def is_wide(text: str) -> bool:
    """Return whether tables are most of a page's text."""
    lines = text.splitlines()
    in_tables = sum(len(line) for line in lines if line.startswith("|"))
    rows = sum(len(table.rows) for table in markdown.tables(text))
    return rows >= MIN_ROWS and in_tables >= MIN_TABLE_SHARE * sum(map(len, lines))


def adapted(text: str) -> str:
    """Return a page with a marked contents list and, if it is wide, a filter before its sections."""
    lines = text.splitlines()
    sections = [heading.line for heading in markdown.headings(text) if heading.level > 1]
    first = sections[0] - 1 if sections else len(lines)
    items = [number for number in range(first) if _CONTENTS_ITEM.match(lines[number])]
    before, after = lines[:first], lines[first:]
    if items:
        before.insert(items[-1] + 1, "\n</div>\n")
        before.insert(items[0], '<div class="page-contents" markdown>\n')
    if is_wide(text):
        before += ["", FILTER_MARK, ""]
    return "\n".join([*before, *after]) + "\n"


def table_filter(text: str) -> str:
    """Return the table filter of a page. Only some pages have columns or rows per engine."""
    form = _FILTER.read_text(encoding="utf-8")
    headers = ["|".join(table.header) for table in markdown.tables(text)]
    return form if any(map(_BOTH_ENGINES.search, headers)) else _ENGINE_CHOICE.sub("", form)


def breakable(html: str) -> str:
    """Return a page's HTML in which code names wrap only between words."""
    return _UNTOUCHED_OR_CODE.sub(
        lambda found: found[0] if found["name"] is None else f"<code>{_with_breaks(found['name'])}</code>", html
    )


def _with_breaks(name: str) -> str:
    parts = _SEPARATOR.split(name)
    return "<wbr>".join(_LONG_WORD.sub(lambda word: _CAPITAL.sub("<wbr>", word[0]), part) for part in parts)
