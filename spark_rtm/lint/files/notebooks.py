"""
Check `.ipynb` notebooks, and Databricks notebooks exported as Python files.

A cell can use names from earlier cells, so all Python cells are checked as one module.
A heading in one cell can mark the code in the next cell as wrong.
The Markdown and Python cells are therefore also checked as one Markdown page, in which each Python cell is a fence.
"""

import re

from spark_rtm.lint.files.documents import Array, Object, UnreadableError, read_json
from spark_rtm.lint.files.layout import layout_of, mark_of
from spark_rtm.lint.files.markdown import layout_problems
from spark_rtm.lint.files.scala import scala_problems
from spark_rtm.lint.files.sql import sql_problems
from spark_rtm.lint.marks import Marks
from spark_rtm.lint.python.check import python_problems
from spark_rtm.lint.python.excerpt import parse, unparsed
from spark_rtm.lint.rules.rule import RuleProblem

NOTEBOOKS = {".py": ("#", "python"), ".scala": ("//", "scala"), ".sql": ("--", "sql")}
"""The sign of a comment and the main language of an exported Databricks notebook, by suffix."""
DATA = re.compile(
    r"^(?P<start>#[^\n]*?)\b(?:errors?|failures?|rejections?|rejects)(?=\s+(?:per|by|counts?|rates?|logs?|alerts?)\b)",
    re.IGNORECASE,
)
"""Heading about errors that the notebook counts. Other headings about errors mark the code below as wrong."""
DELETION = re.compile(r"^[ \t]*rm[ \t]+-\w*r\w*[ \t]+['\"]?(?:/dbfs(?=/))?([^\s'\"]+)", re.MULTILINE)
SEPARATOR = "COMMAND ----------"


Line = tuple[int, str]
Cell = tuple[str, list[Line]]
"""The kind of a cell, such as `python` or `markdown`, and its lines."""


def is_notebook(text: str, suffix: str = ".py") -> bool:
    """Return whether a file is an exported Databricks notebook."""
    sign, _ = NOTEBOOKS[suffix]
    return f"{sign} {SEPARATOR}" in text or text.startswith(f"{sign} Databricks notebook source")


def notebook_problems(
    cells: list[Cell], *, is_source: bool = True, min_batch_ms: float | None = None
) -> list[RuleProblem]:
    """Return the problems in a notebook. `is_source` means that Databricks exported it as source code."""
    page, code = list[Line](), list[Line]()
    problems: list[RuleProblem] = []
    lost: list[RuleProblem] = []
    for kind, lines in cells:
        first = lines[0][0] if lines else 1
        if kind == "markdown":
            page += [*[(number, DATA.sub(r"\g<start>records", text)) for number, text in lines], (first, "")]
        elif kind == "python":
            page += [(first, "```notebook-cell"), *lines, (first, "```"), (first, "")]
            # Each cell is parsed on its own, so one that cannot be parsed does not affect the others.
            _, python, lost_at = parse(_text(lines), is_excerpt=True)
            lost += _located([unparsed(lost_at)] if lost_at else [], lines)
            numbers = [number for number, _ in lines]
            code += [*zip(numbers, [*python.split("\n"), *[""] * len(lines)], strict=False), (0, "")]
        elif kind in {"fs", "sh"} and (match := DELETION.search(_text(lines))):
            code += [(first, f"dbutils.fs.rm({match[1]!r}, True)"), (0, "")]
        elif kind in {"scala", "sql"}:
            problems += _located((scala_problems if kind == "scala" else sql_problems)(_text(lines)), lines)
    layout = layout_of(_text(page))
    problems += _located(layout_problems(layout, min_batch_ms=min_batch_ms), page)
    marks = Marks()
    for fence in layout.fences:
        if (mark := mark_of(layout, fence)) is not None:
            marks.lines.update(dict.fromkeys([number for number, _ in page[fence.line - 1 : fence.end_line]], mark))
    code += [(0, "# Databricks notebook source")] if is_source else []  # a Markdown cell may contain this line
    in_code = python_problems(_text(code), is_excerpt=True, is_notebook=True, min_batch_ms=min_batch_ms)
    located = [*lost, *_located(in_code or [], code)]
    return problems + [(rule, problem) for rule, problem in located if not marks.cover(rule.id, problem.line)]


def _text(lines: list[Line]) -> str:
    return "\n".join(text for _, text in lines)


def _located(problems: list[RuleProblem], lines: list[Line]) -> list[RuleProblem]:
    """Convert line numbers of extracted text to line numbers of the notebook file."""
    return [
        (rule, problem.at(lines[problem.line - 1][0] if 0 < problem.line <= len(lines) else 1))
        for rule, problem in problems
    ]


def cells_of_source(text: str, suffix: str = ".py") -> list[Cell]:
    """Return the cells of a notebook exported as source code."""
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
    # A magic cell has only comments, such as a title, above its magic lines. Magic lines below code are comments.
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


def _json_cell(cell: Object) -> Cell:
    kind = "markdown" if cell.get("cell_type") == "markdown" else "python"
    source = cell.get("source", "")
    lines = source.lines if isinstance(source, Array) else [cell.lines.get("source", 1)]
    items = source if isinstance(source, Array) else [source]
    texts = [(line, item) for line, item in zip(lines, items, strict=True) if isinstance(item, str)]
    # A list usually has one line per item.
    numbers = [number for number, text in texts for _ in text.splitlines()] or [1]
    body = "".join(text for _, text in texts)
    magic = re.match(r"%%?(\w+)", body) if kind == "python" else None
    if magic and magic[1] in {"scala", "sql", "bash", "sh", "r", "fs"}:
        kind, body = magic[1], re.sub(r"^%%?\w+" if magic[1] in {"fs", "sh"} else r"^[^\n]*", "", body, count=1)
    return kind, [(numbers[min(at, len(numbers) - 1)], text) for at, text in enumerate(body.splitlines())]
