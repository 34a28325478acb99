"""
Check `.ipynb` notebooks, and Databricks notebooks exported as Python files.

A cell can use names from earlier cells, so all Python cells are checked as one module.
A heading in one cell can mark the code in the next cell as wrong.
The Markdown and Python cells are therefore also checked as one Markdown page, in which each Python cell is a fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spark_rtm.lint.files.documents import Node, UnreadableError, read_json
from spark_rtm.lint.files.layout import layout_of
from spark_rtm.lint.files.markdown import counterexample_fence_lines, layout_problems
from spark_rtm.lint.files.scala import scala_problems
from spark_rtm.lint.files.sql import sql_problems
from spark_rtm.lint.python.check import python_problems
from spark_rtm.lint.rules.rule import RuleProblem

MAGIC = re.compile(r"^# MAGIC ?(.*)$")
DATA = re.compile(
    r"^(?P<start>#[^\n]*?)\b(?:errors?|failures?|rejections?|rejects)(?=\s+(?:per|by|counts?|rates?|logs?|alerts?)\b)",
    re.IGNORECASE,
)
"""Heading about errors that the notebook counts. Other headings about errors mark the code below as wrong."""
DELETION = re.compile(r"^\s*rm\s+-\w*r\w*\s+['\"]?(?:/dbfs(?=/))?([^\s'\"]+)", re.MULTILINE)
"""Cell command that deletes a folder."""
SEPARATOR = "# COMMAND ----------"


@dataclass(frozen=True)
class NotebookCell:
    """A cell: its kind (such as `python` or `markdown`), its text, and the file's line number of each line."""

    kind: str
    text: str
    lines: tuple[int, ...]

    @property
    def first_line(self) -> int:
        """The cell's first line number in the file."""
        return self.lines[0] if self.lines else 1


@dataclass
class _JoinedText:
    """The joined lines of several cells with their line numbers in the file."""

    text: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(self, text: Sequence[str], lines: Sequence[int]) -> None:
        self.text += text
        self.lines += lines

    def __str__(self) -> str:
        return "\n".join(self.text)


def is_notebook(text: str) -> bool:
    """Return whether a Python file is an exported Databricks notebook."""
    return SEPARATOR in text or text.startswith("# Databricks notebook source")


def notebook_problems(cells: list[NotebookCell], *, min_batch_ms: float | None = None) -> list[RuleProblem]:
    """Return the problems in a notebook."""
    page, code = _JoinedText(), _JoinedText()
    problems: list[RuleProblem] = []
    for cell in cells:
        body = cell.text.splitlines()
        lines = [*cell.lines, *[cell.lines[-1] if cell.lines else 1] * len(body)][: len(body)]
        if cell.kind == "markdown":
            page.add([*[DATA.sub(r"\g<start>records", line) for line in body], ""], [*lines, cell.first_line])
        elif cell.kind == "python":
            page.add(["```notebook-cell", *body, "```", ""], [cell.first_line, *lines, *[cell.first_line] * 2])
            code.add([*body, ""], [*lines, 0])
        elif cell.kind in {"fs", "sh"} and (match := DELETION.search(cell.text)):
            code.add([f"dbutils.fs.rm({match[1]!r}, True)", ""], [cell.first_line, 0])
        elif cell.kind in {"scala", "sql"}:
            problems += _located((scala_problems if cell.kind == "scala" else sql_problems)(cell.text), lines)
    layout = layout_of(str(page))
    problems += _located(layout_problems(layout, min_batch_ms=min_batch_ms), page.lines)
    wrong = {page.lines[line - 1] for line in counterexample_fence_lines(layout) if line <= len(page.lines)}
    in_code = python_problems(str(code), is_excerpt=True, is_notebook=True, min_batch_ms=min_batch_ms) or []
    return problems + [entry for entry in _located(in_code, code.lines) if entry[1].line not in wrong]


def _located(problems: list[RuleProblem], lines: Sequence[int]) -> list[RuleProblem]:
    """
    Convert line numbers of extracted text to line numbers of the notebook file.

    `lines` contains the file's line number for each line of the text.
    """
    return [
        (rule, problem.at(lines[problem.line - 1] if 0 < problem.line <= len(lines) else 1))
        for rule, problem in problems
    ]


def cells_of_source(text: str) -> list[NotebookCell]:
    """Return the cells of a notebook exported as a Python file."""
    cells: list[NotebookCell] = []
    entries: list[tuple[int, str]] = []
    for number, line in enumerate([*text.splitlines(), SEPARATOR], 1):
        if line.strip() == SEPARATOR:
            if entries:
                cells.append(_source_cell(entries))
            entries = []
        else:
            entries.append((number, line))
    return cells


def _source_cell(entries: list[tuple[int, str]]) -> NotebookCell:
    magics = [(number, match[1]) for number, line in entries if (match := MAGIC.match(line))]
    # A magic cell has only comments, such as a title, above its magic lines. Magic lines below code are comments.
    if not magics or any(line.strip() and not line.startswith("#") for _, line in entries):
        return NotebookCell("python", "\n".join(line for _, line in entries), tuple(number for number, _ in entries))
    kind = next((word[1:] for _, line in magics for word in line.split()[:1] if word.startswith("%")), "python")
    kind = {"md": "markdown", "md-sandbox": "markdown"}.get(kind, kind)
    body = [(number, re.sub(r"^%[\w-]+ ?", "", line)) for number, line in magics]
    return NotebookCell(kind, "\n".join(line for _, line in body), tuple(number for number, _ in body))


def cells_of_json(text: str) -> list[NotebookCell]:
    """Return the cells of an `.ipynb` file."""
    root = read_json(text)[0].content
    cells = root["cells"][1].content if isinstance(root, dict) and "cells" in root else None
    if not isinstance(cells, list):
        raise UnreadableError
    return [_json_cell(cell.content) for cell in cells if isinstance(cell.content, dict)]


def _json_cell(cell: dict[str, tuple[int, Node]]) -> NotebookCell:
    kind = "markdown" if "cell_type" in cell and cell["cell_type"][1].content == "markdown" else "python"
    entries = list(_source_lines(cell["source"][1])) if "source" in cell else []
    body = "".join(line for line, _ in entries)
    magic = re.match(r"%%?(\w+)", body) if kind == "python" else None
    if magic and magic[1] in {"scala", "sql", "bash", "sh", "r", "fs"}:
        kind, body = magic[1], re.sub(r"^%%?\w+" if magic[1] in {"fs", "sh"} else r"^[^\n]*", "", body, count=1)
    return NotebookCell(kind, body, tuple(number for _, number in entries))


def _source_lines(source: Node) -> Iterator[tuple[str, int]]:
    """Yield the lines of a cell with their line numbers in the file. A list usually has one line per item."""
    for item in source.content if isinstance(source.content, list) else [source]:
        if isinstance(item.content, str):
            yield from ((line, item.line) for line in item.content.splitlines(keepends=True))
