"""Run all checks on a function or job."""

from collections.abc import Callable, Iterator
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_rtm.lint.engine import lint_paths
from spark_rtm.prove.query import Options, checked, refused
from spark_rtm.prove.run_job import verdicts_of_job
from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.prove.subjects.subject import subject
from spark_rtm.prove.subjects.target import Job, Target
from spark_rtm.prove.verdicts.verdict import CHECKS, GOOD, UNCHECKED, WRONG, Verdict
from spark_rtm.text import finding


def prove(
    bench: Bench,
    target: Target | Job,
    options: Options,
    say: Callable[[str], None],
    show: Callable[[Verdict], None] = lambda _: None,
) -> list[Verdict]:
    """Return the verdicts in the order of `CHECKS`. Call `say` with each step and `show` with each verdict."""
    verdicts = list[Verdict]()
    for verdict in _verdicts(bench, target, options, say):
        # No check can run unless the query starts, so problems that prevent the start are always reported.
        if verdict.check in options.checks or verdict.status != GOOD:
            show(verdict)
        verdicts.append(verdict)
    optional = {"topics", "login"} | ({"expect"} if options.expect is None else set())
    done = {verdict.check for verdict in verdicts} | optional
    skipped = [check for check in CHECKS if check in options.checks and check not in done]
    for check in skipped:
        verdicts.append(Verdict(check, UNCHECKED, "not checked, because the query does not run"))
        show(verdicts[-1])
    wanted = [verdict for verdict in verdicts if verdict.check in options.checks or verdict.status != GOOD]
    return sorted(wanted, key=lambda verdict: CHECKS.index(verdict.check))


def _verdicts(bench: Bench, target: Target | Job, options: Options, say: Callable[[str], None]) -> Iterator[Verdict]:
    yield from lint(target.path) if "lint" in options.checks else []
    if isinstance(target, Job):
        yield from verdicts_of_job(bench, target, options, say)
    else:
        yield from verdicts_of_function(bench, target, options, say)


def lint(path: Path) -> list[Verdict]:
    """Return the findings of the linter for OSS, the engine of `prove`."""
    found = lint_paths([path], finding.OSS)
    wrong = [Verdict("lint", WRONG, f"{f.rule}: {f.message}", f.fix, "", f.path, f.line) for f in found]
    return wrong or [Verdict("lint", GOOD, "no findings")]


def verdicts_of_function(
    bench: Bench, target: Target, options: Options, say: Callable[[str], None]
) -> Iterator[Verdict]:
    """Yield the verdicts on a function from source rows to sink rows."""
    say("building the query")
    try:
        with subject(bench, target, options.samples, options.partitions) as examined:
            yield from checked(examined, options, say)
    except (PySparkException, Py4JJavaError, TypeError, ValueError) as error:
        yield refused(error, target.path, target.line)
