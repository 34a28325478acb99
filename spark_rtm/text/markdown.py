"""
Parse the checkable parts of a Markdown page: fences, headings, links and tables.

Each part records its first line number. The parser also finds tilde, quoted and indented fences with any info string,
because tests run only the fences that the parser finds. This module imports only the standard library, because the
linter also runs without third-party packages.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

# Pattern for text that may precede a fence: quote markers, and a list item's indentation or bullet.
_PREFIX = r"(?P<prefix>(?:[ \t]*>)*[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)"
_OPENING = re.compile(_PREFIX + r"(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$")
_LANGUAGE = re.compile(r"\s*(?:\{code(?:-block)?\}\s*|\{?\s*\.?)(?P<name>[\w#.+-]*)")
# A key begins at the start of a word. Otherwise, matching would restart at each letter of a long word.
_OPTION = re.compile(
    r"(?<![\w-])(?P<key>[A-Za-z_][\w-]*+)=(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s}\"']+))"
)
_HEADING = re.compile(r"^ {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>.*)$")
_LINK = re.compile(
    r"(?<!\\)\[(?P<text>(?:[^\[\]\\]|\\.|\[[^\]]*\])*)\]\((?P<target><[^>]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)"
)
_REFERENCE = re.compile(r"^ {0,3}\[(?P<text>[^\]]+)\]:[ \t]+(?P<target>\S+)", re.MULTILINE)
_TICKS = re.compile(r"`+")
_PYTHON = {"python", "py", "python3", "pyspark", "ipython", "ipython3", "pycon", "py3", "code-cell"}


@dataclass(frozen=True)
class Fence:
    """A fenced code block. `line` is the line number of the opening fence."""

    line: int
    end_line: int
    language: str
    options: dict[str, str]
    info: str
    code: str
    prefix: str = ""

    @property
    def first_code_line(self) -> int:
        """The line number of the fence's first code line."""
        return self.line + 1

    @property
    def is_python(self) -> bool:
        """Whether the fence's language is Python."""
        return self.language in _PYTHON


@dataclass(frozen=True)
class Heading:
    """A Markdown heading and its anchor."""

    line: int
    level: int
    title: str
    anchor: str


@dataclass(frozen=True)
class Link:
    """A Markdown link. `target` is the unmodified link target."""

    line: int
    text: str
    target: str


@dataclass(frozen=True)
class Table:
    """A Markdown table: its header cells, and each row's line number and cells."""

    line: int
    header: tuple[str, ...]
    rows: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)


@lru_cache(maxsize=1)  # callers usually request headings, tables, prose and fences of the same page in succession
def fences(text: str) -> tuple[Fence, ...]:
    """Return every fenced code block in page order. An unclosed block ends with the page."""
    return tuple(_fences(text.splitlines()))


def prose(text: str) -> list[str]:
    """Return the page's lines. Lines inside fences are emptied, so line numbers stay correct."""
    lines = text.splitlines()
    for fence in fences(text):
        for number in range(fence.line - 1, min(fence.end_line, len(lines))):
            lines[number] = ""
    return lines


def headings(text: str) -> list[Heading]:
    """Return the page's headings, with the anchors that GitHub and the site generate."""
    result = []
    for number, line in enumerate(prose(text), 1):
        if match := _HEADING.match(line):
            title = _without_closing_marks(match["title"].rstrip(" \t"))
            result.append(Heading(number, len(match["marks"]), title, _slug(title)))
    return result


def links(text: str) -> list[Link]:
    """Return the page's inline links, images and reference definitions outside code."""
    result = []
    for number, line in enumerate(prose(text), 1):
        visible = replace_code_spans(line, lambda span: "x" * len(span))
        matches = [*_LINK.finditer(visible), *_REFERENCE.finditer(visible)]
        result += [Link(number, line[slice(*match.span("text"))], match["target"].strip("<>")) for match in matches]
    return result


def tables(text: str) -> list[Table]:
    """Return the page's tables. A vertical bar inside a code span or after a backslash does not separate cells."""
    lines = prose(text)
    result = []
    number = 0
    while number + 1 < len(lines):
        header, rule = _cells(lines[number]), _cells(lines[number + 1])
        if len(header) == len(rule) > 0 and all(re.fullmatch(r":?-+:?", cell) for cell in rule):
            table = Table(number + 1, header)
            number += 2
            while number < len(lines) and (cells := _cells(lines[number])):
                table.rows.append((number + 1, cells))
                number += 1
            result.append(table)
        else:
            number += 1
    return result


def code_spans(text: str) -> list[tuple[int, int]]:
    """Return each code span's start and end: a run of backticks, and the next run of the same length."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    later: dict[int, list[int]] = {}
    for number in reversed(range(len(runs))):
        later.setdefault(runs[number][1] - runs[number][0], []).append(number)
    spans = []
    end = -1
    for number, (start, stop) in enumerate(runs):
        same = later[stop - start]
        same.pop()
        if number > end and same:
            end = same[-1]
            spans.append((start, runs[end][1]))
    return spans


def replace_code_spans(text: str, change: Callable[[str], str]) -> str:
    """Return the text with each code span, including its backticks, replaced by the result of `change`."""
    pieces = []
    position = 0
    for start, end in code_spans(text):
        pieces += [text[position:start], change(text[start:end])]
        position = end
    return "".join([*pieces, text[position:]])


def _fences(lines: list[str]) -> Iterator[Fence]:
    number = 0
    while number < len(lines):
        match = _OPENING.match(lines[number])
        if not match or ("`" in match["mark"] and "`" in match["info"]):
            number += 1
            continue
        end = _closing(lines, number, match["mark"])
        code = _unquoted(lines[number + 1 : end], match["prefix"])
        yield Fence(
            line=number + 1,
            end_line=end + 1,
            language=_language(match["info"]),
            options=_options(match["info"]),
            info=match["info"].strip(),
            code="".join(line + "\n" for line in code),
            prefix=match["prefix"],
        )
        number = end + 1


def _closing(lines: list[str], start: int, mark: str) -> int:
    closing = re.compile(rf"[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
    quoted = lines[start].lstrip().startswith(">")
    for number in range(start + 1, len(lines)):
        if closing.match(lines[number]):
            return number
        if quoted and not lines[number].lstrip().startswith(">"):
            return number
    return len(lines)


def _unquoted(lines: list[str], prefix: str) -> Iterator[str]:
    quotes = re.compile(rf"(?:[ \t]*>){{0,{prefix.count('>')}}}")
    indent = len(prefix.rpartition(">")[2].expandtabs(4))
    for line in lines:
        bare = line[quotes.match(line).end() :]  # type: ignore[union-attr]  # the pattern matches any line
        expanded = len(bare) - len(bare.lstrip(" \t"))
        yield bare[min(indent, expanded) :]


def _language(info: str) -> str:
    match = _LANGUAGE.match(info)
    name = match["name"].lower() if match else ""
    return "" if _OPTION.match(info.strip().lstrip("{").strip()) else name


def _options(info: str) -> dict[str, str]:
    return {match["key"]: match["double"] or match["single"] or match["bare"] or "" for match in _OPTION.finditer(info)}


def _without_closing_marks(title: str) -> str:
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if bare.endswith((" ", "\t")) else title


def _slug(title: str) -> str:
    plain = re.sub(r"\[([^\[\]]*)\]\([^()]*\)", r"\1", title).replace("`", "")
    kept = re.sub(r"[^\w\s-]", "", plain).strip().lower()
    return re.sub(r"\s", "-", kept)


def _cells(line: str) -> tuple[str, ...]:
    stripped = line.strip()
    if "|" not in stripped:
        return ()
    hidden = replace_code_spans(stripped.replace("\\|", "\0"), lambda span: span.replace("|", "\0"))
    return tuple(cell.strip().replace("\0", "|") for cell in hidden.strip("|").split("|"))
