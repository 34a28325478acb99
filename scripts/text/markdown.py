"""
Parse the parts of a Markdown page that can be checked: fences, headings, links and tables.

Each part records its first line number.
The tests run only the fences that this parser finds, so the parser also finds tilde, quoted and indented fences with
any info string.

This module uses only the standard library, because the linter also runs on machines without any packages.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# Allowed before a fence: quote marks, and the indentation or the bullet of a list item.
_PREFIX = r"(?P<prefix>(?:[ \t]*>)*[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)"
_OPENING = re.compile(_PREFIX + r"(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$")
_LANGUAGE = re.compile(r"\s*\{?\s*\.?(?P<name>[\w#.+-]*)")
_OPTION = re.compile(r"(?P<key>[A-Za-z_][\w-]*)=(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s}\"']+))")
_HEADING = re.compile(r"^ {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>.*?)(?:[ \t]+#+)?[ \t]*$")
_LINK = re.compile(
    r"(?<!\\)\[(?P<text>(?:[^\[\]\\]|\\.|\[[^\]]*\])*)\]\((?P<target><[^>]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)"
)
_REFERENCE = re.compile(r"^ {0,3}\[(?P<text>[^\]]+)\]:[ \t]+(?P<target>\S+)", re.MULTILINE)
CODE_SPAN = re.compile(r"(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)")
_PYTHON = {"python", "py", "python3", "pyspark", "ipython", "pycon", "py3"}


@dataclass(frozen=True)
class Fence:
    """A fenced code block; `line` is the line number of its opening mark."""

    line: int
    end_line: int
    language: str
    options: dict[str, str]
    info: str
    code: str
    prefix: str = ""

    @property
    def first_code_line(self) -> int:
        """The line number of the first line of code."""
        return self.line + 1

    @property
    def is_python(self) -> bool:
        """Whether the language of the fence is Python."""
        return self.language in _PYTHON


@dataclass(frozen=True)
class Heading:
    """A heading and the anchor to which links refer."""

    line: int
    level: int
    title: str
    anchor: str


@dataclass(frozen=True)
class Link:
    """A link; `target` is exactly as written in the page."""

    line: int
    text: str
    target: str


@dataclass(frozen=True)
class Table:
    """A table: the cells of its header, and the line number and cells of each row."""

    line: int
    header: tuple[str, ...]
    rows: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)


def fences(text: str) -> list[Fence]:
    """Return every fenced code block in page order; an unclosed block ends with the page."""
    return list(_fences(text.splitlines()))


def prose(text: str) -> list[str]:
    """Return the lines of the page; lines inside fences are empty, so line numbers stay correct."""
    lines = text.splitlines()
    for fence in _fences(lines):
        for number in range(fence.line - 1, min(fence.end_line, len(lines))):
            lines[number] = ""
    return lines


def headings(text: str) -> list[Heading]:
    """Return the headings, with the anchors that GitHub and the site generate."""
    return [
        Heading(number, len(match["marks"]), match["title"], _slug(match["title"]))
        for number, line in enumerate(prose(text), 1)
        if (match := _HEADING.match(line))
    ]


def links(text: str) -> list[Link]:
    """Return inline links, images and reference definitions outside of code."""
    result = []
    for number, line in enumerate(prose(text), 1):
        visible = CODE_SPAN.sub(lambda span: "x" * len(span[0]), line)
        matches = [*_LINK.finditer(visible), *_REFERENCE.finditer(visible)]
        result += [Link(number, line[slice(*match.span("text"))], match["target"].strip("<>")) for match in matches]
    return result


def tables(text: str) -> list[Table]:
    """Return the tables; a bar inside a code span or after a backslash does not separate cells."""
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


def _fences(lines: list[str]) -> Iterator[Fence]:
    number = 0
    while number < len(lines):
        match = _OPENING.match(lines[number])
        if not match or ("`" in match["mark"] and "`" in match["info"]):
            number += 1
            continue
        end = _closing(lines, number, match["mark"])
        yield Fence(
            line=number + 1,
            end_line=end + 1,
            language=_language(match["info"]),
            options=_options(match["info"]),
            info=match["info"].strip(),
            code="".join(_unquoted(line, match["prefix"]) + "\n" for line in lines[number + 1 : end]),
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


def _unquoted(line: str, prefix: str) -> str:
    for _ in range(prefix.count(">")):
        line = re.sub(r"^[ \t]*>", "", line, count=1)
    indent = len(prefix.rpartition(">")[2].expandtabs(4))
    expanded = len(line) - len(line.lstrip(" \t"))
    return line[min(indent, expanded) :]


def _language(info: str) -> str:
    match = _LANGUAGE.match(info)
    name = match["name"].lower() if match else ""
    return "" if _OPTION.match(info.strip().lstrip("{").strip()) else name


def _options(info: str) -> dict[str, str]:
    return {match["key"]: match["double"] or match["single"] or match["bare"] or "" for match in _OPTION.finditer(info)}


def _slug(title: str) -> str:
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
    kept = re.sub(r"[^\w\s-]", "", plain).strip().lower()
    return re.sub(r"\s", "-", kept)


def _cells(line: str) -> tuple[str, ...]:
    stripped = line.strip()
    if "|" not in stripped:
        return ()
    hidden = CODE_SPAN.sub(lambda span: span[0].replace("|", "\0"), stripped.replace("\\|", "\0"))
    return tuple(cell.strip().replace("\0", "|") for cell in hidden.strip("|").split("|"))
