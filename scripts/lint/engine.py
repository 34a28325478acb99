"""
Lint code and advice about Spark's real-time mode, on a bare Python.

What arrives are files: Python, notebooks, Markdown, and definitions of clusters and jobs; what leaves are findings.
Real-time mode demands rules that fire only for its own queries; what a file shows as wrong is not a finding.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.lint.files.definitions import definition_problems
from scripts.lint.files.documents import UnreadableError
from scripts.lint.files.markdown import CLAIMS, page_problems, wrong_fence_lines
from scripts.lint.files.notebooks import Cell, cells_of_json, cells_of_source, is_notebook
from scripts.lint.files.scala import scala_problems
from scripts.lint.prose.marks import ignored
from scripts.lint.python.check import CODE_RULES, Found, minimum_in, python_problems
from scripts.lint.rules.cluster import CLUSTER_RULES
from scripts.lint.rules.rule import Problem, Rule
from scripts.text.finding import DATABRICKS, ENGINES, OSS, Finding

RULES: list[Rule] = [*CODE_RULES, *CLAIMS, *CLUSTER_RULES]
SUFFIXES = {".py", ".ipynb", ".md", ".markdown", ".json", ".yaml", ".yml", ".scala"}
SKIPPED = {".git", ".venv", "venv", "site", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache",
           ".pytest_cache", ".hypothesis", ".tox", "build", "dist", "spark-warehouse"}  # fmt: skip
LARGEST_BYTES = 2_000_000
RELEVANT = re.compile(
    r"real[-_ ]?time|\brtm\b|[-_]rtm\b|\brtm[-_]|continuous|asyncProgress|ForeachWriter", re.IGNORECASE
)
IN_DATABRICKS = re.compile(
    r"\bdbutils\b|# Databricks notebook source|# MAGIC|spark\.databricks\.|/Volumes/|dbfs:/|"
    r"\bcloudFiles\b|\bDatabricks Runtime\b|"
    r"^(?:import dlt|from pyspark import pipelines)\b|format\(\"(?:kinesis|postgresql|eventhubs)\"\)",
    re.MULTILINE,
)
IN_OSS = re.compile(r"local\[[\d*]+\]|local-cluster\[|spark-sql-kafka-0-10_")


def lint_paths(paths: Iterable[Path | str], engine: str | None = None) -> list[Finding]:
    """
    Return the findings in files and in all files of folders, sorted.

    A minimum batch duration that one Python file sets counts for all of them.
    """
    files = [path for root in paths for path in _files(Path(root))]
    texts = {path: text for path in files if (text := _text(path)) is not None and RELEVANT.search(text)}
    minima = [value for path, text in texts.items() if path.suffix == ".py" and (value := minimum_in(text))]
    found: set[Finding] = set()
    for path, text in texts.items():
        found.update(lint_text(text, path.as_posix(), engine, minimum_ms=min(minima, default=None)))
    return sorted(found)


def lint_text(text: str, path: str, engine: str | None = None, *, minimum_ms: float | None = None) -> list[Finding]:
    """
    Return the findings in one text, sorted; `path` says what it is.

    Without `engine` the text itself may tell it, such as a notebook of Databricks; otherwise both count. A text that
    cannot be parsed gives one warning, `unreadable`, if it speaks of real-time mode, else nothing.
    """
    if not RELEVANT.search(text):
        return []
    suffix = Path(path).suffix.lower()
    try:
        found = _problems(text, suffix, minimum_ms)
    except (UnreadableError, RecursionError, MemoryError):
        found = None
    if found is None:
        message = "the file cannot be parsed, so nothing in it was checked"
        is_ours = re.search(r"realTime|RealTime", text)
        return [Finding(path, 1, "unreadable", message, "correct its syntax", "warning")] if is_ours else []
    engines = (engine,) if engine else _engines(text, suffix)
    silent = ignored(text.splitlines())
    findings = {_finding(rule, problem, path) for rule, problem in found if _is_kept(rule, problem, engines, silent)}
    return sorted(findings)


def _problems(text: str, suffix: str, minimum_ms: float | None) -> Found | None:
    if suffix == ".ipynb":
        return _notebook_problems(cells_of_json(text), minimum_ms)
    if suffix in {".md", ".markdown"}:
        return page_problems(text, minimum_ms=minimum_ms)
    if suffix in {".json", ".yaml", ".yml"}:
        return definition_problems(text, is_json=suffix == ".json")
    if suffix == ".scala":
        return scala_problems(text)
    return (
        _notebook_problems(cells_of_source(text), minimum_ms)
        if is_notebook(text)
        else python_problems(text, is_excerpt=False, minimum_ms=minimum_ms)
    )


def _notebook_problems(cells: list[Cell], minimum_ms: float | None) -> Found:
    """Check all Python cells as one module, and each under the headings above it."""
    found: Found = []
    # As a page, whose fences are the cells; the names of one cell are known in the next.
    lines, numbers = [], []
    python, python_numbers = [], []
    for cell in cells:
        body = cell.text.splitlines()
        places = [*cell.lines, *[cell.lines[-1] if cell.lines else 1] * len(body)]
        if cell.kind == "markdown":
            lines += [*body, ""]
            numbers += [*places[: len(body)], places[0]]
        elif cell.kind == "python":
            lines += ["```notebook-cell", *body, "```", ""]
            numbers += [places[0] if places else 1, *places[: len(body)], *[places[0] if places else 1] * 2]
            python += [*body, ""]
            python_numbers += [*places[: len(body)], 0]
        elif cell.kind == "scala":
            found += [(rule, _at(problem, places)) for rule, problem in scala_problems(cell.text)]
    page = "\n".join(lines)
    found += [(rule, _at(problem, numbers)) for rule, problem in page_problems(page, minimum_ms=minimum_ms)]
    wrong = {numbers[line - 1] for line in wrong_fence_lines(page) if line <= len(numbers)}
    code = python_problems("\n".join(python), is_excerpt=True, minimum_ms=minimum_ms) or []
    moved = [(rule, _at(problem, python_numbers)) for rule, problem in code]
    return found + [(rule, problem) for rule, problem in moved if problem.line not in wrong]


def _at(problem: Problem, numbers: Iterable[int]) -> Problem:
    places = list(numbers)
    line = places[problem.line - 1] if 0 < problem.line <= len(places) else 1
    return Problem(line, problem.message, problem.fix, problem.engine, problem.severity)


def _engines(text: str, suffix: str) -> tuple[str, ...]:
    if suffix in {".md", ".markdown"}:
        return ENGINES
    is_databricks, is_oss = bool(IN_DATABRICKS.search(text)), bool(IN_OSS.search(text))
    if is_databricks == is_oss:
        return ENGINES
    return (DATABRICKS,) if is_databricks else (OSS,)


def _is_kept(rule: Rule, problem: Problem, engines: tuple[str, ...], silent: dict[int, set[str]]) -> bool:
    if not set(problem.engine or rule.engines) & set(engines):
        return False
    return not silent.get(problem.line, set()) & {"*", rule.id}


def _finding(rule: Rule, problem: Problem, path: str) -> Finding:
    severity = problem.severity or rule.severity
    return Finding(path, problem.line, rule.id, problem.message, problem.fix, severity, problem.engine or rule.engines)


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        yield from (Path(folder, name) for name in sorted(names) if Path(name).suffix.lower() in SUFFIXES)


def _text(path: Path) -> str | None:
    try:
        if path.stat().st_size > LARGEST_BYTES:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
