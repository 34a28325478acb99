"""
Check `.ipynb` notebooks, and Databricks notebooks exported as Python files.

A cell can use names from earlier cells, so all Python cells are checked as one module.
A heading in one cell can mark the code in the next cell as wrong.
The Markdown and Python cells are therefore also checked as one Markdown page, in which each Python cell is a fence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from scripts.lint.files.documents import UnreadableError
from scripts.lint.files.markdown import counterexample_fence_lines, page_problems
from scripts.lint.files.scala import scala_problems
from scripts.lint.python.check import python_problems
from scripts.lint.rules.rule import RuleProblem

MAGIC = re.compile(r"^# MAGIC ?(.*)$")
SEPARATOR = "# COMMAND ----------"


@dataclass(frozen=True)
class NotebookCell:
    """A cell: its kind (such as `python` or `markdown`), its text, and the line number in the file of each line."""

    kind: str
    text: str
    lines: tuple[int, ...]

    @property
    def first_line(self) -> int:
        """The line number of the cell's first line in the file."""
        return self.lines[0] if self.lines else 1


@dataclass
class _JoinedText:
    """The joined lines of several cells, each with its line number in the file."""

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
            page.add([*body, ""], [*lines, cell.first_line])
        elif cell.kind == "python":
            page.add(["```notebook-cell", *body, "```", ""], [cell.first_line, *lines, *[cell.first_line] * 2])
            code.add([*body, ""], [*lines, 0])
        elif cell.kind == "scala":
            problems += _located(scala_problems(cell.text), lines)
    problems += _located(page_problems(str(page), min_batch_ms=min_batch_ms), page.lines)
    wrong = {page.lines[line - 1] for line in counterexample_fence_lines(str(page)) if line <= len(page.lines)}
    in_code = python_problems(str(code), is_excerpt=True, min_batch_ms=min_batch_ms) or []
    return problems + [entry for entry in _located(in_code, code.lines) if entry[1].line not in wrong]


def _located(problems: list[RuleProblem], lines: Sequence[int]) -> list[RuleProblem]:
    """
    Convert line numbers in text extracted from a notebook to line numbers in the notebook file.

    `lines` holds the line number in the file for each line of the text.
    """
    return [
        (rule, problem.at(lines[problem.line - 1] if 0 < problem.line <= len(lines) else 1))
        for rule, problem in problems
    ]


def cells_of_source(text: str) -> list[NotebookCell]:
    """Return the cells of a notebook that was exported as a Python file."""
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
    if not magics:
        return NotebookCell("python", "\n".join(line for _, line in entries), tuple(number for number, _ in entries))
    kind = next((word[1:] for _, line in magics for word in line.split()[:1] if word.startswith("%")), "python")
    kind = {"md": "markdown", "md-sandbox": "markdown"}.get(kind, kind)
    body = [(number, re.sub(r"^%[\w-]+ ?", "", line)) for number, line in magics]
    return NotebookCell(kind, "\n".join(line for _, line in body), tuple(number for number, _ in body))


def cells_of_json(text: str) -> list[NotebookCell]:
    """Return the cells of an `.ipynb` file."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise UnreadableError from error
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise UnreadableError
    raw, position, cells = text.splitlines(), 0, []
    for cell in document["cells"]:
        source = cell.get("source", "") if isinstance(cell, dict) else ""
        lines = source.splitlines(keepends=True) if isinstance(source, str) else [str(line) for line in source]
        numbers = []
        for line in lines:
            position = _find(raw, line, position)
            numbers.append(position + 1)
        kind = "markdown" if isinstance(cell, dict) and cell.get("cell_type") == "markdown" else "python"
        body = "".join(lines)
        magic = re.match(r"%%?(\w+)", body) if kind == "python" else None
        if magic and magic[1] in {"scala", "sql", "bash", "sh", "r"}:
            kind, body = magic[1], re.sub(r"^[^\n]*", "", body, count=1)
        cells.append(NotebookCell(kind, body, tuple(numbers)))
    return cells


def _find(raw: list[str], line: str, start: int) -> int:
    """Return the index in `raw` of the first line from `start` on that contains `line` as JSON, or else `start`."""
    forms = {json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1]}
    for number in range(start, len(raw)):
        if any(form in raw[number] for form in forms):
            return number
    return start
