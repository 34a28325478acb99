"""
Notebooks as pages: prose cells and code cells of one document.

What arrives is a notebook as JSON or as a Python file with `# MAGIC` lines; what leaves is text whose lines are known.
Real-time mode demands nothing here, but a heading in one cell marks the code of the next.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from scripts.lint.files.documents import UnreadableError

MAGIC = re.compile(r"^# MAGIC ?(.*)$")
COMMAND = "# COMMAND ----------"


@dataclass(frozen=True)
class Cell:
    """One cell: `python`, `markdown` or `scala`, with the line of the file for each of its own lines."""

    kind: str
    text: str
    lines: tuple[int, ...]


def is_notebook(text: str) -> bool:
    """Tell whether a Python file is an exported notebook."""
    return COMMAND in text or text.startswith("# Databricks notebook source")


def cells_of_source(text: str) -> list[Cell]:
    """Return the cells of an exported notebook."""
    cells: list[Cell] = []
    entries: list[tuple[int, str]] = []
    for number, line in enumerate([*text.splitlines(), COMMAND], 1):
        if line.strip() == COMMAND:
            if entries:
                cells.append(_source_cell(entries))
            entries = []
        else:
            entries.append((number, line))
    return cells


def _source_cell(entries: list[tuple[int, str]]) -> Cell:
    magics = [(number, match[1]) for number, line in entries if (match := MAGIC.match(line))]
    if not magics:
        return Cell("python", "\n".join(line for _, line in entries), tuple(number for number, _ in entries))
    kind = next((word[1:] for _, line in magics for word in line.split()[:1] if word.startswith("%")), "python")
    kind = {"md": "markdown", "md-sandbox": "markdown"}.get(kind, kind)
    body = [(number, re.sub(r"^%[\w-]+ ?", "", line)) for number, line in magics]
    return Cell(kind, "\n".join(line for _, line in body), tuple(number for number, _ in body))


def cells_of_json(text: str) -> list[Cell]:
    """Return the cells of an `.ipynb` file; UnreadableError if it is none."""
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
        cells.append(Cell(kind, body, tuple(numbers)))
    return cells


def _find(raw: list[str], line: str, start: int) -> int:
    forms = {json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1]}
    for number in range(start, len(raw)):
        if any(form in raw[number] for form in forms):
            return number
    return start
