"""Find mistakes in code and pages about Spark's real-time mode, using only the standard library."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from spark_rtm.lint.facts import Cluster, Fact, Facts, Sentence
from spark_rtm.lint.files.definitions import read_definitions
from spark_rtm.lint.files.documents import read_dictionaries
from spark_rtm.lint.files.formats import DEFINITIONS, PAGES, PROGRAMS, READERS, SUFFIXES
from spark_rtm.lint.files.layout import layout_of
from spark_rtm.lint.files.markdown import read_page
from spark_rtm.lint.files.notebooks import (
    NOTEBOOKS,
    Cell,
    Place,
    cells_of_json,
    cells_of_source,
    is_notebook,
    numbered,
    read_notebook,
)
from spark_rtm.lint.marks import silenced_in_file, silenced_lines, silences
from spark_rtm.lint.problem import Problem, UncheckedError, time_limit
from spark_rtm.lint.python.read import read_python
from spark_rtm.lint.rules import claim, cluster, job, mode, operator, setting, source, state, trigger
from spark_rtm.lint.rules.rule import UNCHECKED, Rule, RuleProblem
from spark_rtm.lint.settings import Settings
from spark_rtm.lint.sources import ABOUT_MODE, Sources, is_micro_batch, is_relevant, read_sources
from spark_rtm.lint.spark.module import Module, target_engines
from spark_rtm.text.finding import ENGINES, Finding

MODULES = (trigger, source, operator, state, setting, mode, job, claim, cluster)
RULES: list[Rule] = [rule for module in MODULES for rule in module.RULES]
KINDS = {Cluster: "cluster", Sentence: "page"}
PYTHON_ONLY = {"python-udf", "python-state", "map-in-pandas", "foreach-writer-import", "foreach-interval"}
CODE_WORD = re.compile(r"(?<![\w.])[a-z]+(?:[A-Z_.]\w+)+|(?<=')[\w.]+(?=')")
"""Pattern for a name such as `mapInPandas`, or a quoted value, in a message."""
CODE_OF_MODE = re.compile(r"realTime|RealTime")
MAX_LINE = 2000
"""Maximum length of a line for which findings contain columns."""
DEFAULTS = Settings()


def lint_paths(
    paths: Iterable[Path | str], engine: str | None = None, *, settings: Settings = DEFAULTS
) -> list[Finding]:
    """Return the sorted findings for files and folders. A minimum batch duration set in one file applies to all."""
    sources = read_sources([Path(path) for path in paths], settings.excludes, as_real_time=settings.as_real_time)
    return lint_sources(sources, engine, settings=settings)


def lint_sources(sources: Sources, engine: str | None = None, *, settings: Settings = DEFAULTS) -> list[Finding]:
    """Return the sorted findings for files or standard input."""
    findings: set[Finding] = set()
    for path, text in sources.texts():
        name, minimum = path.as_posix(), sources.min_batch_ms
        findings.update(lint_text(text, name, engine or settings.engine, min_batch_ms=minimum, settings=settings))
    findings |= {_finding(UNCHECKED, problem, path.as_posix()) for path, problem in sources.unchecked}
    return sorted(finding for finding in findings if settings.reports(finding.rule, finding.path))


def lint_text(
    text: str,
    path: str,
    engine: str | None = None,
    *,
    min_batch_ms: float | None = None,
    settings: Settings = DEFAULTS,
) -> list[Finding]:
    """
    Return the sorted findings for one text. The suffix of `path` determines the text's format.

    If `engine` is None, evidence in the text, such as a Databricks notebook header, determines the engine. Without
    evidence, both engines apply. An `unchecked` finding reports a part that was not checked. Texts without `realTime`
    need not be parsable.
    """
    suffix = Path(path).suffix.lower()
    as_real_time = settings.as_real_time and suffix not in PAGES
    if not is_relevant(text, suffix) and not (as_real_time and is_micro_batch(text, suffix)):
        return []
    # A single-node Databricks cluster has the master `local[*]`, which in other files indicates OSS.
    is_for_both = suffix in PAGES or suffix in DEFINITIONS
    engines = (engine,) if engine else ENGINES if is_for_both else target_engines(text)
    problems, cells, places = _checked(text, suffix, min_batch_ms, as_real_time=as_real_time)
    lines = [line for _, cell in cells for _, line in cell] or text.split("\n")
    body = "\n".join(lines) if places else text
    silenced, silenced_everywhere = silenced_lines(body), silenced_in_file(body)
    findings = {
        _placed(_finding(rule, problem, path, lines), places)
        for rule, problem in problems
        if rule.id not in silenced_everywhere and _is_reported(rule, problem, engines, silenced)
    }
    return sorted(finding for finding in findings if settings.reports(finding.rule, path))


def _placed(finding: Finding, places: Sequence[Place]) -> Finding:
    """Return a notebook's finding with its place in the file and in its cell."""
    if not 0 < finding.line <= len(places):
        return finding
    line, cell, cell_line = places[finding.line - 1]
    return replace(finding, line=line, cell=cell, cell_line=cell_line)


def is_complete(findings: Iterable[Finding]) -> bool:
    """Return whether the findings show that everything was checked."""
    return all(finding.rule != UNCHECKED.id for finding in findings)


def _checked(
    text: str, suffix: str, min_batch_ms: float | None, *, as_real_time: bool
) -> tuple[list[RuleProblem], list[Cell], list[Place]]:
    """Return a text's problems and, for an `.ipynb` file, its cells and the places of their lines."""
    try:
        with time_limit():
            cells, places = numbered(cells_of_json(text)) if suffix == ".ipynb" else ([], [])
            problems = _judged(_read(text, suffix, min_batch_ms, cells), as_real_time=as_real_time)
            return problems, cells, places
    except UncheckedError as error:
        # Definitions are parsed only if they are about real-time mode.
        is_about = suffix in DEFINITIONS or (ABOUT_MODE if suffix in PAGES else CODE_OF_MODE).search(text)
        return [(UNCHECKED, error.problem)] if is_about else [], [], []
    except RecursionError:
        reason, remedy = "the file is nested too deeply, so it was not checked", "split its expressions"
    except Exception as error:  # noqa: BLE001  # an error in one file must not stop the check of other files
        reason = f"the linter failed with {type(error).__name__}: {error}, so the file was not checked"
        remedy = "report this as a bug of the linter"
    return [(UNCHECKED, Problem(1, reason, remedy))], [], []


def _read(text: str, suffix: str, min_batch_ms: float | None, cells: list[Cell]) -> Facts:
    language = SUFFIXES.get(suffix, "python")
    if language == "page":
        return read_page(layout_of(text), min_batch_ms=min_batch_ms)
    if language == "notebook" or (language == "python" and is_notebook(text)):
        cells = cells if language == "notebook" else cells_of_source(text)
        is_databricks = language == "python" or "application/vnd.databricks" in text
        return read_notebook(cells, is_databricks=is_databricks, min_batch_ms=min_batch_ms)
    if language == "python":
        facts = read_python(text, is_excerpt=False, min_batch_ms=min_batch_ms)
        facts.add(read_definitions(text, read_dictionaries))
        return facts
    facts = PROGRAMS[language](text) if language in PROGRAMS else READERS[language](text)
    cells = cells_of_source(text, suffix) if suffix in NOTEBOOKS and is_notebook(text, suffix) else []
    if in_python := [cell for cell in cells if cell[0] in {"python", "markdown"}]:
        facts.add(read_notebook(in_python, min_batch_ms=min_batch_ms))
    return facts


def _judged(facts: Facts, *, as_real_time: bool) -> list[RuleProblem]:
    problems = [(UNCHECKED, problem) for problem in facts.unchecked]
    for fact in facts.parts:
        subject = fact.subject
        if as_real_time and isinstance(subject, Module):
            subject = replace(subject, as_real_time=True)
        # Thousands of queries that share an operator cause the same problem thousands of times. Keep only one problem.
        found = {
            (rule.id, problem.line, problem.message): (rule, problem)
            for rule in _rules_for(fact)
            for problem in rule.check(subject)
            if not fact.marks.cover(rule.id, problem.line, problem.lines)
            and set(problem.engine or rule.engines) & set(fact.engines)
        }
        for rule, problem in found.values():
            severity = fact.severity or problem.severity
            problems.append((rule, replace(problem.at(fact.line_of(problem.line)), severity=severity)))
    return problems


def _rules_for(fact: Fact) -> Iterator[Rule]:
    kind = KINDS.get(type(fact.subject), "module")
    is_jvm = getattr(fact.subject, "is_jvm", False)
    for rule in RULES:
        is_meant = rule.subject == kind and (not fact.only or rule.id.startswith(fact.only))
        is_silent = (is_jvm and rule.id in PYTHON_ONLY) or (fact.mark is not None and silences(fact.mark, rule.id))
        if is_meant and not is_silent:
            yield rule


def _is_reported(rule: Rule, problem: Problem, engines: tuple[str, ...], silenced: dict[int, set[str]]) -> bool:
    if not set(problem.engine or rule.engines) & set(engines):
        return False
    # A comment that silences all rules does not silence `unchecked` findings.
    names = {rule.id} if rule is UNCHECKED else {"*", rule.id}
    return not silenced.get(problem.line, set()) & names


def _finding(rule: Rule, problem: Problem, path: str, lines: Sequence[str] = ()) -> Finding:
    severity, engines = problem.severity or rule.severity, problem.engine or rule.engines
    line = lines[problem.line - 1] if 0 < problem.line <= len(lines) else ""
    start, end = _columns(_words(rule, problem.message), line)
    return Finding(
        path, problem.line, rule.id, problem.message, problem.fix, severity, engines, start, end, source=line
    )


@lru_cache(1000)
def _words(rule: Rule, message: str) -> list[re.Pattern[str]]:
    words = [*rule.reported_words, *CODE_WORD.findall(message)]
    return [re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE) for word in words]


def _columns(words: Iterable[re.Pattern[str]], line: str) -> tuple[int, int]:
    """Return the start and end columns of the first match of `words`, or else of the whole line."""
    if len(line) > MAX_LINE:  # a file on one line can have thousands of findings
        return 1, len(line) + 1
    found = [match.span() for word in words if (match := word.search(line))]
    # A word that occurs only once is certainly the one that the finding refers to.
    once = (span for span in found if line.lower().count(line[slice(*span)].lower()) == 1)
    if found:
        start, end = next(once, found[0])
        return start + 1, end + 1
    text = line.rstrip()
    return len(line) - len(line.lstrip()) + 1 if text else 1, len(text) + 1
