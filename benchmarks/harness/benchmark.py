"""
The options common to all benchmarks, and the program that runs a benchmark and publishes its results.

The module of a benchmark has a docstring for `--help`, a dataclass `Options`, and `measure(options, console)`, which
returns an `Outcome`. `PRESETS` maps flags to values that replace the defaults. Only this module writes result files,
and it rejects invalid runs, so no benchmark can publish them.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from rich.console import Console
from rich.table import Table

from benchmarks.harness.run import PARTITIONS, Case
from benchmarks.results import charts
from benchmarks.results.run_result import RunResult
from benchmarks.results.summary import summarize
from spark_rtm.command_line import arguments_of
from spark_rtm.measure import PERCENTILES
from spark_rtm.measure.cpu import describe_machine

QUICK_RUN: dict[str, Any] = {"duration": 9, "warm_up_seconds": 12, "interval_seconds": 2, "repeats": 1}
"""Values of `--quick` for runs of engines."""
BUILD_DIR, PUBLISHED_DIR = Path("build/benchmarks"), Path("references/measured")
INTERRUPTED = 130
REPOSITORY = Path(__file__).parents[2]
NUMBER_LIST = re.compile(r"\[[\s\d.,-]+\]")
WIDTH = 160
WRITTEN = f"""
The JSON and the charts are written to {BUILD_DIR}, and with `--publish` to {PUBLISHED_DIR}.
The exit status is 1 if a run is invalid; invalid runs are not published."""
COLUMNS = {
    **{name: name for name in ("workload", "engine", "rate")},
    **{name: f"{name}_ms" for name in PERCENTILES},
    "lowest\np99": "p99_lowest_ms",
    "highest\np99": "p99_highest_ms",
    "pause": "pause_median_ms",
    "times\nbaseline": "times_baseline",
    "speed-up vs\nmicro-batch": "speedup_over_micro_batch",
    "speed-up vs\nuntuned": "speedup_over_untuned",
    "outputs\n/record": "outputs_per_record",
    "CPU s\n/million": "cpu_seconds_per_million",
}
"""JSON key of each column in the printed table of cases. Columns without values are omitted."""


@dataclass(frozen=True)
class BenchmarkOptions:
    """Options for every benchmark."""

    duration: float = 60
    """Seconds of measured traffic in each run."""
    quick: bool = False
    """Run a shorter version of the benchmark."""
    publish: bool = False
    """Write the results to references/measured if all runs are valid."""


@dataclass(frozen=True)
class RunOptions(BenchmarkOptions):
    """Options for benchmarks that start an engine. Each benchmark overrides the defaults."""

    duration: float = 60
    """Seconds of measured traffic in each run. Use at least 3.5 trigger intervals for enough batch boundaries."""
    warm_up_seconds: float = 100
    """
    Seconds of traffic before the measured part. Use a longer time than one trigger interval.

    The p50 of an aggregation was 1.6 s after 6 s of traffic, until the JVM had compiled it, and 16 ms after 12 s.
    """
    interval_seconds: float = 12
    """Trigger interval of real-time mode in seconds."""
    repeats: int = 3
    """Number of runs per case. Each repeat begins with another case."""
    max_late_runs: int = 2
    """Maximum number of repeats of a run with late records. If the last one also has late records, it is invalid."""
    filter: tuple[str, ...] = ()
    """Run only cases whose `workload, engine` contains TEXT (repeatable)."""

    def selected(self, cases: Iterable[Case]) -> list[Case]:
        """Return the cases that `--filter` selects. Raise ValueError if there are none."""
        found = [
            case
            for case in cases
            if not self.filter or any(text in f"{case.workload}, {case.engine}" for text in self.filter)
        ]
        if not found:
            names = " ".join(self.filter)
            raise ValueError(f"--filter {names!r} matches no case, so nothing is measured; use a part of a case name")
        return found


def conditions(options: BenchmarkOptions) -> dict[str, Any]:
    """Return the conditions that all engines share, without the settings of single engines."""
    values = {name: value for name, value in asdict(options).items() if name not in {"filter", "publish"}}
    values["duration_seconds"] = values.pop("duration")
    if isinstance(values.get("rate"), tuple):
        values["rates"] = values.pop("rate")
    return {**describe_machine(), "partitions": PARTITIONS, **values}


@dataclass(frozen=True)
class Outcome:
    """The result of a benchmark."""

    stem: str
    """Name of the JSON file, and prefix of the charts."""
    content: dict[str, Any]
    problems: Sequence[str] = ()
    """Reasons why the measurement must not be published."""
    draw: Callable[[Path], Sequence[Path]] = lambda _: ()
    """Draws the charts into a folder, and returns their paths."""


def parse(name: str, module: Any, arguments: Sequence[str] | None = None) -> Any:
    """Return the benchmark's `Options`, parsed from the arguments that follow its name."""
    program = f"python -m benchmarks {name}"
    return arguments_of(
        module.Options,
        arguments,
        program=program,
        description=f"{module.__doc__.strip()}\n\nRun the benchmark with `make bench-{name}`.\n{WRITTEN}",
        example=f"{program} --quick",
        presets=getattr(module, "PRESETS", {"quick": QUICK_RUN}),
    )


def run(name: str, module: Any, arguments: Sequence[str] | None = None) -> int:
    """Run a benchmark, write its results, and return the exit status. Print expected errors and an interruption."""
    options, console = parse(name, module, arguments), plain_console()
    try:
        return write(module.measure(options, console), console, publish=options.publish)
    except (RuntimeError, ValueError, TimeoutError, KafkaException) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; no results were written", file=sys.stderr)
        return INTERRUPTED


def plain_console() -> Console:
    """Return a console that is wide enough for tables, even without a terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=WIDTH, highlight=False)


def write(outcome: Outcome, console: Console, *, publish: bool) -> int:
    """Write the JSON and the charts. If the outcome has problems, do not publish it, and return 1."""
    problems = outcome.problems
    folder = PUBLISHED_DIR if publish and not problems else BUILD_DIR
    written = [write_json(outcome.content, folder / f"{outcome.stem}.json"), *outcome.draw(folder)]
    console.print(f"written: {', '.join(map(str, written))}", soft_wrap=True)
    if problems:
        found = f"{len(problems)} {'problems invalidate' if len(problems) > 1 else 'problem invalidates'}"
        consequence = "so the results were not published"
        print(f"{found} this benchmark, {consequence}; first problem: {problems[0]}", file=sys.stderr)
    return 1 if problems else 0


def outcome_of(
    stem: str, described: Mapping[str, Any], results: Sequence[RunResult], console: Console, *, has_charts: bool = True
) -> Outcome:
    """Summarize the runs by case, print the cases, and return an outcome with the cases and conditions."""
    content = {**described, **summarize(results)}
    console.print(case_table(content["cases"]))
    problems = [problem for result in results for problem in result.problems]
    return Outcome(stem, content, problems, lambda folder: charts.draw(content, folder, stem) if has_charts else ())


def case_table(cases: Sequence[Mapping[str, Any]]) -> Table:
    """Return the cases as a table of user latencies in milliseconds, the most important columns first."""
    present = {title: key for title, key in COLUMNS.items() if any(case[key] is not None for case in cases)}
    table = Table(*present, title="from due time to receipt, ms (median of the runs)", box=None)
    for case in cases:
        table.add_row(*(_text(key, case[key]) for key in present.values()))
    return table


def _text(key: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or "-"
    return format(value, ",.1f" if key.endswith("_ms") else ",g")


def write_json(content: dict[str, Any], path: Path) -> Path:
    """Write JSON without this checkout's path, create the folder if necessary, and return the file's path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1).replace(f"{REPOSITORY.as_uri()}/", "file:")
    # Each list of numbers stays on one line, so the diff between two runs is readable.
    path.write_text(NUMBER_LIST.sub(lambda match: " ".join(match[0].split()), text) + "\n")
    return path
