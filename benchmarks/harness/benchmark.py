"""
Define a benchmark, and run and publish it.

A benchmark measures and returns an `Outcome`. Only this module writes files, so no benchmark can publish invalid runs.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from confluent_kafka import KafkaException
from rich.console import Console

from benchmarks.harness.cli import QUICK_RUN, BenchmarkOptions
from benchmarks.harness.plan import plain_console
from benchmarks.results import charts
from benchmarks.results.run_result import RunResult
from benchmarks.results.summary import summarize
from benchmarks.results.table import print_cases
from spark_rtm.command_line import arguments_of
from spark_rtm.measure import page

BUILD_DIR, PUBLISHED_DIR = Path("build/benchmarks"), Path("references/measured")
INTERRUPTED = 130
REPOSITORY = Path(__file__).parents[2]
NUMBER_LIST = re.compile(r"\[[\s\d.,-]+\]")

WRITTEN = f"""
The JSON and the charts are written to {BUILD_DIR}, and with `--publish` to {PUBLISHED_DIR}; a page with both is written
to {BUILD_DIR}.
The exit status is 1 if a run is invalid; invalid runs are not published."""
PROLOG = re.compile(r"^.*?(?=<svg)", re.DOTALL)
Options = TypeVar("Options", bound=BenchmarkOptions)


@dataclass(frozen=True)
class Outcome:
    """The result of a benchmark."""

    stem: str
    """Name of the JSON file, and prefix of the charts."""
    content: dict[str, Any]
    problems: Sequence[str] = ()
    """Reasons against publishing the measurement."""
    draw: Callable[[Path], Sequence[Path]] = lambda _: ()
    """Draws the charts into a folder, and returns their paths."""


@dataclass(frozen=True)
class Benchmark(Generic[Options]):
    """A question with a measurement that answers it."""

    name: str
    """Name on the command line: `make bench-NAME`."""
    description: str | None
    options: type[Options]
    measure: Callable[[Options, Console], Outcome]
    example: str
    """Options for the last line of `--help`."""
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"quick": QUICK_RUN})
    """Flags with the values that replace the defaults."""

    def parse(self, arguments: Sequence[str] | None = None) -> Options:
        """Parse the command line after the benchmark's name."""
        program = f"python -m benchmarks {self.name}"
        return arguments_of(
            self.options,
            arguments,
            program=program,
            description=f"{(self.description or '').strip()}\n{WRITTEN}",
            example=f"{program} {self.example}",
            presets=self.presets,
        )


def run(benchmark: Benchmark[Options], arguments: Sequence[str] | None = None) -> int:
    """Run a benchmark, write its results, and return the exit status. Print expected errors and an interruption."""
    options, console = benchmark.parse(arguments), plain_console()
    try:
        return write(benchmark.measure(options, console), console, publish=options.publish)
    except (RuntimeError, ValueError, TimeoutError, KafkaException) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; no results were written", file=sys.stderr)
        return INTERRUPTED


def write(outcome: Outcome, console: Console, *, publish: bool) -> int:
    """Write the JSON and the charts, and return 1 if the outcome has problems. These outcomes are not published."""
    problems = outcome.problems
    folder = PUBLISHED_DIR if publish and not problems else BUILD_DIR
    drawn = outcome.draw(folder)
    written = [write_json(outcome.content, folder / f"{outcome.stem}.json"), *drawn, _write_page(outcome, drawn)]
    console.print(f"written: {', '.join(map(str, written))}", soft_wrap=True)
    if problems:
        found = f"{len(problems)} {'problems invalidate' if len(problems) > 1 else 'problem invalidates'}"
        consequence = "so the results were not published"
        print(f"{found} this benchmark, {consequence}; first problem: {problems[0]}", file=sys.stderr)
    return 1 if problems else 0


def _write_page(outcome: Outcome, drawn: Sequence[Path]) -> Path:
    """Write the charts, a table for each list of the content, and the machine. Omit runs that cases summarize."""
    content, hidden = outcome.content, {"runs"} if "cases" in outcome.content else set()
    verdicts = [(problem, False) for problem in outcome.problems] or [("The measurement is valid.", True)]
    tables = [_table(name, rows) for name, rows in content.items() if isinstance(rows, list) and name not in hidden]
    figure = "".join(PROLOG.sub("", chart.read_text(encoding="utf-8")) for chart in drawn)
    path, machine = BUILD_DIR / f"{outcome.stem}.html", page.machine_of(content.get("conditions", {}))
    return page.write(path, f"Benchmark: {outcome.stem}", verdicts, figure, [*tables, machine])


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> page.Table:
    scalars = (column for row in rows for column, value in row.items() if not isinstance(value, list | dict))
    columns = list(dict.fromkeys(scalars))
    cells = [["" if row.get(column) is None else row[column] for column in columns] for row in rows]
    return page.Table(name.replace("_", " "), [column.replace("_", " ") for column in columns], cells)


def outcome_of(
    stem: str, described: Mapping[str, Any], results: Sequence[RunResult], console: Console, *, has_charts: bool = True
) -> Outcome:
    """Summarize the runs of engines, print the cases, and return them with the conditions."""
    content = {**described, **summarize(results)}
    print_cases(content, console)
    problems = [problem for result in results for problem in result.problems]
    return Outcome(stem, content, problems, lambda folder: charts.draw(content, folder, stem) if has_charts else ())


def write_json(content: dict[str, Any], path: Path) -> Path:
    """Write JSON without this checkout's path, create the folder if necessary, and return the file's path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1).replace(f"{REPOSITORY.as_uri()}/", "file:")
    # Each list of numbers stays on one line, so the diff between two runs is readable.
    path.write_text(NUMBER_LIST.sub(lambda match: " ".join(match[0].split()), text) + "\n")
    return path
