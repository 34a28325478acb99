"""
Find mistakes in code and pages about Spark's real-time mode, using only the standard library.

Rules about real-time mode apply only to queries with a real-time trigger.
The linter does not report code that the file itself marks as wrong.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.lint.files.definitions import definition_problems
from scripts.lint.files.documents import UnreadableError
from scripts.lint.files.markdown import CLAIMS, page_problems
from scripts.lint.files.notebooks import cells_of_json, cells_of_source, is_notebook, notebook_problems
from scripts.lint.files.scala import scala_problems
from scripts.lint.prose.marks import silenced_rules
from scripts.lint.python.check import python_problems
from scripts.lint.rules.cluster import CLUSTER_RULES
from scripts.lint.rules.code import CODE_RULES
from scripts.lint.rules.rule import Problem, Rule, RuleProblem
from scripts.lint.spark.intervals import min_batch_ms_in
from scripts.text.finding import DATABRICKS, ENGINES, OSS, Finding

RULES: list[Rule] = [*CODE_RULES, *CLAIMS, *CLUSTER_RULES]
SUFFIXES = {".py", ".ipynb", ".md", ".markdown", ".json", ".yaml", ".yml", ".scala"}
SKIPPED_FOLDERS = {".git", ".venv", "venv", "site", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache",
                   ".pytest_cache", ".hypothesis", ".tox", "build", "dist", "spark-warehouse"}  # fmt: skip
MAX_BYTES = 2_000_000
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
    Return the sorted findings for the given files, and for all files in the given folders and their subfolders.

    A minimum batch duration set in one Python file applies to all files.
    """
    files = [path for root in paths for path in _files(Path(root))]
    texts = {path: text for path in files if (text := _text(path)) is not None and RELEVANT.search(text)}
    minima = [value for path, text in texts.items() if path.suffix == ".py" and (value := min_batch_ms_in(text))]
    findings: set[Finding] = set()
    for path, text in texts.items():
        findings.update(lint_text(text, path.as_posix(), engine, min_batch_ms=min(minima, default=None)))
    return sorted(findings)


def lint_text(text: str, path: str, engine: str | None = None, *, min_batch_ms: float | None = None) -> list[Finding]:
    """
    Return the sorted findings for one text; the suffix of `path` determines the format of the text.

    If `engine` is None, the linter infers the engine from the text, for example from a Databricks notebook header.
    If the engine cannot be inferred, the linter reports findings for both engines.
    If a text that contains `realTime` cannot be parsed, the only finding is the warning `unreadable`.
    A text without `realTime` that cannot be parsed produces no findings.
    """
    if not RELEVANT.search(text):
        return []
    suffix = Path(path).suffix.lower()
    try:
        problems = _problems(text, suffix, min_batch_ms)
    except (UnreadableError, RecursionError, MemoryError):
        problems = None
    if problems is None:
        message = "the file cannot be parsed, so it was not checked"
        is_about = re.search(r"realTime|RealTime", text)
        return (
            [Finding(path, 1, "unreadable", message, "correct the syntax of the file", "warning")] if is_about else []
        )
    engines = (engine,) if engine else _engines(text, suffix)
    silenced = silenced_rules(text.splitlines())
    return sorted({_finding(*entry, path) for entry in problems if _is_reported(*entry, engines, silenced)})


def _problems(text: str, suffix: str, min_batch_ms: float | None) -> list[RuleProblem] | None:
    if suffix == ".ipynb":
        return notebook_problems(cells_of_json(text), min_batch_ms=min_batch_ms)
    if suffix in {".md", ".markdown"}:
        return page_problems(text, min_batch_ms=min_batch_ms)
    if suffix in {".json", ".yaml", ".yml"}:
        return definition_problems(text, is_json=suffix == ".json")
    if suffix == ".scala":
        return scala_problems(text)
    if is_notebook(text):
        return notebook_problems(cells_of_source(text), min_batch_ms=min_batch_ms)
    return python_problems(text, is_excerpt=False, min_batch_ms=min_batch_ms)


def _engines(text: str, suffix: str) -> tuple[str, ...]:
    if suffix in {".md", ".markdown"}:
        return ENGINES
    is_databricks, is_oss = bool(IN_DATABRICKS.search(text)), bool(IN_OSS.search(text))
    if is_databricks == is_oss:
        return ENGINES
    return (DATABRICKS,) if is_databricks else (OSS,)


def _is_reported(rule: Rule, problem: Problem, engines: tuple[str, ...], silenced: dict[int, set[str]]) -> bool:
    if not set(problem.engine or rule.engines) & set(engines):
        return False
    return not silenced.get(problem.line, set()) & {"*", rule.id}


def _finding(rule: Rule, problem: Problem, path: str) -> Finding:
    severity = problem.severity or rule.severity
    return Finding(path, problem.line, rule.id, problem.message, problem.fix, severity, problem.engine or rule.engines)


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        yield from (Path(folder, name) for name in sorted(names) if Path(name).suffix.lower() in SUFFIXES)


def _text(path: Path) -> str | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
