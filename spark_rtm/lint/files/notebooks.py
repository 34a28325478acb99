"""
Read `.ipynb` notebooks, and Databricks notebooks exported as Python files.

A cell can use names from earlier cells, so all Python cells are checked as one module. A heading in one cell can mark
code in the next cell as wrong. Therefore, the Markdown and Python cells are also checked as one Markdown page, in which
each Python cell is a fence.
"""

import re

from spark_rtm.lint.facts import Array, Facts, LineOf, Object
from spark_rtm.lint.files.code import read_jvm, read_sql
from spark_rtm.lint.files.documents import read_json
from spark_rtm.lint.files.layout import Layout, layout_of, mark_of
from spark_rtm.lint.files.markdown import read_page
from spark_rtm.lint.problem import UnreadableError
from spark_rtm.lint.python.excerpt import parse, unparsed
from spark_rtm.lint.python.read import read_python

NOTEBOOKS = {".py": ("#", "python"), ".scala": ("//", "scala"), ".sql": ("--", "sql")}
"""Comment prefix and main language of an exported Databricks notebook, by file suffix."""
DELETION = re.compile(r"^[ \t]*rm[ \t]+-\w*r\w*[ \t]+['\"]?(?:/dbfs(?=/))?([^\s'\"]+)", re.MULTILINE)
SEPARATOR = "COMMAND ----------"


Line = tuple[int, str]
Cell = tuple[str, list[Line]]
"""A notebook cell: its kind, such as `python` or `markdown`, and its lines."""
Place = tuple[int, int, int]
"""The place of a cell's line: the line in the file, the number of the cell, and the line in the cell, from 1."""


def is_notebook(text: str, suffix: str = ".py") -> bool:
    """Return whether a file is an exported Databricks notebook."""
    sign, _ = NOTEBOOKS[suffix]
    return f"{sign} {SEPARATOR}" in text or text.startswith(f"{sign} Databricks notebook source")


def read_notebook(cells: list[Cell], *, is_databricks: bool = True, min_batch_ms: float | None = None) -> Facts:
    """Return the facts in a notebook. `is_databricks` means that Databricks exported the notebook."""
    page, code = list[Line](), list[Line]()
    facts, in_python = Facts(), Facts()
    for kind, lines in cells:
        first = lines[0][0] if lines else 1
        if kind == "markdown":
            page += [*lines, (first, "")]
        elif kind == "python":
            page += [(first, "```notebook-cell"), *lines, (first, "```"), (first, "")]
            # Each cell is parsed separately, so an invalid cell does not affect other cells.
            _, python, lost_at = parse(_text(lines), is_excerpt=True)
            in_python.unchecked += [unparsed(_line_of(lines)(lost_at))] if lost_at else []
            numbers = [number for number, _ in lines]
            code += [*zip(numbers, [*python.split("\n"), *[""] * len(lines)], strict=False), (0, "")]
        elif kind in {"fs", "sh"} and (match := DELETION.search(_text(lines))):
            code += [(first, f"dbutils.fs.rm({match[1]!r}, True)"), (0, "")]
        elif kind in {"scala", "sql"}:
            facts.add((read_jvm if kind == "scala" else read_sql)(_text(lines)), _line_of(lines))
    layout = layout_of(_text(page))
    facts.add(read_page(layout, min_batch_ms=min_batch_ms), _line_of(page))
    code += [(0, "# Databricks notebook source")] if is_databricks else []  # a Markdown cell may contain this line
    in_python.add(
        read_python(_text(code), is_excerpt=True, is_notebook=True, min_batch_ms=min_batch_ms), _line_of(code)
    )
    wrong = _marked(layout, page)
    for fact in in_python.parts:
        fact.marks.lines |= {at: wrong[number] for at, (number, _) in enumerate(code, 1) if number in wrong}
    facts.parts += in_python.parts
    facts.unchecked += [problem for problem in in_python.unchecked if problem.line not in wrong]
    return facts


def _marked(layout: Layout, page: list[Line]) -> dict[int, str]:
    """Return the lines in cells that a heading or a preceding sentence marks as wrong."""
    marked: dict[int, str] = {}
    for fence in layout.fences:
        if (mark := mark_of(layout, fence)) is not None:
            marked.update(dict.fromkeys([number for number, _ in page[fence.line - 1 : fence.end_line]], mark))
    return marked


def _text(lines: list[Line]) -> str:
    return "\n".join(text for _, text in lines)


def _line_of(lines: list[Line]) -> LineOf:
    """Return a function that converts line numbers in extracted text to line numbers in the notebook file."""
    return lambda line: lines[line - 1][0] if 0 < line <= len(lines) else 1


def cells_of_source(text: str, suffix: str = ".py") -> list[Cell]:
    """Split a notebook that was exported as source code into cells."""
    sign, language = NOTEBOOKS[suffix]
    separator = f"{sign} {SEPARATOR}"
    cells: list[Cell] = []
    lines: list[Line] = []
    for number, line in enumerate([*text.splitlines(), separator], 1):
        if line.strip() != separator:
            lines.append((number, line))
        elif lines:
            cells.append(_source_cell(lines, sign, language))
            lines = []
    return cells


def _source_cell(lines: list[Line], sign: str, language: str) -> Cell:
    mark = f"{sign} MAGIC"
    magics = [(number, line[len(mark) :].removeprefix(" ")) for number, line in lines if line.startswith(mark)]
    # In a magic cell, only comments such as a title precede the magic lines. Magic lines below code are comments.
    if not magics or any(line.strip() and not line.startswith(sign) for _, line in lines):
        return language, lines
    kind = next((word[1:] for _, line in magics for word in line.split()[:1] if word.startswith("%")), language)
    kind = {"md": "markdown", "md-sandbox": "markdown"}.get(kind, kind)
    return kind, [(number, re.sub(r"^%[\w-]+ ?", "", line)) for number, line in magics]


def cells_of_json(text: str) -> list[Cell]:
    """Return the cells of an `.ipynb` file."""
    (root,) = read_json(text)
    cells = root.get("cells") if isinstance(root, Object) else None
    if not isinstance(cells, Array):
        raise UnreadableError
    return [_json_cell(cell) for cell in cells if isinstance(cell, Object)]


def numbered(cells: list[Cell]) -> tuple[list[Cell], list[Place]]:
    """Return the cells with their lines numbered across cells. An `.ipynb` file may store a cell on one line."""
    renumbered, places = list[Cell](), list[Place]()
    for number, (kind, lines) in enumerate(cells, 1):
        first = len(places) + 1
        places += [(line, number, at) for at, (line, _) in enumerate(lines, 1)]
        renumbered.append((kind, [(at, text) for at, (_, text) in enumerate(lines, first)]))
    return renumbered, places


def _json_cell(cell: Object) -> Cell:
    kind = "markdown" if cell.get("cell_type") == "markdown" else "python"
    source = cell.get("source", "")
    lines = source.lines if isinstance(source, Array) else [cell.lines.get("source", 1)]
    items = source if isinstance(source, Array) else [source]
    texts = [(line, item) for line, item in zip(lines, items, strict=True) if isinstance(item, str)]
    # A source list usually has one item per line.
    numbers = [number for number, text in texts for _ in text.splitlines()] or [1]
    body = "".join(text for _, text in texts)
    magic = re.match(r"%%?(\w+)", body) if kind == "python" else None
    if magic and magic[1] in {"scala", "sql", "bash", "sh", "r", "fs"}:
        kind, body = magic[1], re.sub(r"^%%?\w+" if magic[1] in {"fs", "sh"} else r"^[^\n]*", "", body, count=1)
    return kind, [(numbers[min(at, len(numbers) - 1)], text) for at, text in enumerate(body.splitlines())]
