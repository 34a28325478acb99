"""Find mistakes in code and pages about Spark's real-time mode, using only the standard library."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path

from spark_rtm.lint.files import markdown
from spark_rtm.lint.files.definitions import definition_problems
from spark_rtm.lint.files.documents import UnreadableError, read_python
from spark_rtm.lint.files.layout import layout_of
from spark_rtm.lint.files.notebooks import NOTEBOOKS, cells_of_json, cells_of_source, is_notebook, notebook_problems
from spark_rtm.lint.files.scala import scala_problems
from spark_rtm.lint.python.check import CODE_RULES, python_problems
from spark_rtm.lint.python.excerpt import PYTHON
from spark_rtm.lint.rules import claim, cluster
from spark_rtm.lint.rules.job import NO_SHUFFLE_CONF
from spark_rtm.lint.rules.rule import UNCHECKED, Problem, Rule, RuleProblem, UncheckedError, unchecked
from spark_rtm.lint.settings import Settings
from spark_rtm.lint.sources import Sources, is_relevant, read_sources
from spark_rtm.lint.spark.engines import target_engines
from spark_rtm.lint.suppress import silenced_in_file, silenced_lines
from spark_rtm.lint.time_limit import time_limit
from spark_rtm.text.finding import ENGINES, Finding

RULES: list[Rule] = [*CODE_RULES, *claim.RULES, *cluster.RULES]
DEFINITIONS = {f".{language}" for language in markdown.DEFINITIONS}
OTHER_LANGUAGES = {f".{language}": check for language, check in markdown.LANGUAGES.items()} | {
    ".scala": partial(scala_problems, is_excerpt=False),
    ".java": partial(scala_problems, is_java=True, is_excerpt=False),
}
PAGES = {".md", ".markdown"}
CODE_WORD = re.compile(r"(?<![\w.])[a-z]+(?:[A-Z_.]\w+)+|(?<=')[\w.]+(?=')")
"""A code word in a message: a name such as `mapInPandas`, or a quoted value."""
MAX_LINE = 2000
"""Maximum length of a line in which a finding has its own columns."""
DEFAULTS = Settings()


def lint_paths(
    paths: Iterable[Path | str], engine: str | None = None, *, settings: Settings = DEFAULTS
) -> list[Finding]:
    """Return the sorted findings for files and folders. A minimum duration in one Python file applies to all files."""
    return lint_sources(read_sources([Path(path) for path in paths], settings.excludes), engine, settings=settings)


def lint_sources(sources: Sources, engine: str | None = None, *, settings: Settings = DEFAULTS) -> list[Finding]:
    """Return the sorted findings for files or standard input."""
    findings: set[Finding] = set()
    for path, text in sources.texts():
        name, minimum = path.as_posix(), sources.min_batch_ms
        findings.update(lint_text(text, name, engine or settings.engine, min_batch_ms=minimum, settings=settings))
    findings |= {_finding(*problem, path.as_posix()) for path, problem in sources.unchecked}
    if sources.sets_shuffle_partitions:
        findings = {finding for finding in findings if finding.fix != NO_SHUFFLE_CONF}
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
    Return the sorted findings for one text. The suffix of `path` determines the format of the text.

    If `engine` is None, a sign in the text, such as a Databricks notebook header, determines the engine. Without a
    sign, both engines apply.
    The finding `unchecked` names a part that was not checked. A text without `realTime` does not have to be parsable.
    """
    suffix = Path(path).suffix.lower()
    if not is_relevant(text, suffix):
        return []
    # The master of a Databricks cluster with one node is `local[*]`, which elsewhere is a sign of OSS.
    is_for_both = suffix in PAGES or suffix in DEFINITIONS
    engines = (engine,) if engine else ENGINES if is_for_both else target_engines(text)
    silenced, silenced_everywhere, lines = silenced_lines(text), silenced_in_file(text), text.split("\n")
    findings = {
        _finding(rule, problem, path, lines)
        for rule, problem in _checked(text, suffix, min_batch_ms)
        if rule.id not in silenced_everywhere and _is_reported(rule, problem, engines, silenced)
    }
    return sorted(finding for finding in findings if settings.reports(finding.rule, path))


def is_complete(findings: Iterable[Finding]) -> bool:
    """Return whether everything was checked."""
    return all(finding.rule != UNCHECKED.id for finding in findings)


def _checked(text: str, suffix: str, min_batch_ms: float | None) -> list[RuleProblem]:
    try:
        with time_limit():
            return _problems(text, suffix, min_batch_ms)
    except UnreadableError as error:
        # Definitions are parsed only if they are about real-time mode.
        return [error.problem] if suffix in DEFINITIONS or re.search(r"realTime|RealTime", text) else []
    except UncheckedError as error:
        return [error.problem]
    except RecursionError:
        return [unchecked("the file is nested too deeply, so it was not checked", "split its expressions")]
    except Exception as error:  # noqa: BLE001  # an error in one file must not stop the check of the others
        reason = f"the linter failed with {type(error).__name__}: {error}, so the file was not checked"
        return [unchecked(reason, "report this as a bug of the linter")]


def _problems(text: str, suffix: str, min_batch_ms: float | None) -> list[RuleProblem]:
    if suffix in OTHER_LANGUAGES:
        found = OTHER_LANGUAGES[suffix](text)
        cells = cells_of_source(text, suffix) if suffix in NOTEBOOKS and is_notebook(text, suffix) else []
        in_python = [cell for cell in cells if cell[0] in {"python", "markdown"}]
        return found + notebook_problems(in_python, min_batch_ms=min_batch_ms) if in_python else found
    if suffix == ".ipynb" or (suffix == ".py" and is_notebook(text)):
        cells = cells_of_json(text) if suffix == ".ipynb" else cells_of_source(text)
        return notebook_problems(cells, is_source=suffix == ".py", min_batch_ms=min_batch_ms)
    if suffix in PAGES:
        return markdown.layout_problems(layout_of(text), min_batch_ms=min_batch_ms)
    problems = python_problems(text, is_excerpt=False, min_batch_ms=min_batch_ms)
    if problems is None:
        raise UnreadableError(parser=f" by {PYTHON}")
    return problems + definition_problems(text, read_python)


def _is_reported(rule: Rule, problem: Problem, engines: tuple[str, ...], silenced: dict[int, set[str]]) -> bool:
    if not set(problem.engine or rule.engines) & set(engines):
        return False
    # A comment that silences all rules does not hide that something was not checked.
    names = {rule.id} if rule is UNCHECKED else {"*", rule.id}
    return not silenced.get(problem.line, set()) & names


def _finding(rule: Rule, problem: Problem, path: str, lines: Sequence[str] = ()) -> Finding:
    severity, engines = problem.severity or rule.severity, problem.engine or rule.engines
    line = lines[problem.line - 1] if 0 < problem.line <= len(lines) else ""
    start, end = _columns(_words(rule, problem.message), line)
    return Finding(path, problem.line, rule.id, problem.message, problem.fix, severity, engines, start, end)


@lru_cache(1000)
def _words(rule: Rule, message: str) -> list[re.Pattern[str]]:
    words = [*rule.reported_words, *CODE_WORD.findall(message)]
    return [re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE) for word in words]


def _columns(words: Iterable[re.Pattern[str]], line: str) -> tuple[int, int]:
    """Return the start and end columns of the first of `words` in the line, or else of the whole line."""
    if len(line) > MAX_LINE:  # a file on one line can have thousands of findings
        return 1, len(line) + 1
    found = [match.span() for word in words if (match := word.search(line))]
    # A word that stands only once is certainly the one that the finding means.
    once = (span for span in found if line.lower().count(line[slice(*span)].lower()) == 1)
    if found:
        start, end = next(once, found[0])
        return start + 1, end + 1
    text = line.rstrip()
    return len(line) - len(line.lstrip()) + 1 if text else 1, len(text) + 1
