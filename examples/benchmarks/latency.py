"""
Measure the latency of Spark's execution modes, of the floor under them, and of two copies of a query: `make bench`.

What arrives are options; what leaves are tables, `latency.json`, and its charts. Exit status 1 if a run is invalid.
Real-time mode is measured across its batch boundaries, because in between it stands at the floor like any client.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from rich.console import Console
from rich.table import Table

from examples.benchmarks.harness.cli import Lengths, is_chosen, parser_of, with_lengths
from examples.benchmarks.harness.load_generator import Traffic
from examples.benchmarks.harness.plan import interleaved, plain_console, run_plan
from examples.benchmarks.harness.run import Trial
from examples.benchmarks.results.charts import draw, short_name
from examples.benchmarks.results.summary import summarise
from examples.benchmarks.spark.variants import latency_cells
from examples.measure.machine import describe_machine
from examples.measure.percentiles import PERCENTILES

BUILD, KEPT = Path("build/latency"), Path("references/measured")
INTERRUPTED = 130
ENGINE_WIDTH, LEAST_COLUMNS, MOST_WIDTH = 44, 3, 1_000
NUMBERS = re.compile(r"\[[\s\d.,-]+\]")
NUMBERS_OF_A_CELL = {
    "gap": "gap_median_ms",
    "times\nfloor": "times_floor",
    "below\nmicro-batch": "below_micro_batch",
    "below\nuntuned": "below_untuned",
    "outputs\n/record": "outputs_per_record",
    "CPU s\n/million": "cpu_s_per_million",
}
FULL = Lengths(3, 12, 100, 50)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do the runs, print and write what they have shown; return 1 if one of them does not count."""
    parser = parser_of("latency", __doc__, "--quick --only stateful")
    parser.add_argument("--rate", type=float, default=1000, help="records per second")
    parser.add_argument("--arrivals", nargs="+", choices=("constant", "poisson"), default=["constant"])
    options = with_lengths(parser.parse_args(arguments), FULL)
    return ended(lambda: _measure(options))


def _measure(options: argparse.Namespace) -> int:
    console, cells = plain_console(), latency_cells(options.interval_seconds, quick=options.quick)
    traffics = [
        Traffic(options.rate, options.warm_up_seconds, options.measured_seconds, arrivals)
        for arrivals in options.arrivals
    ]
    chosen = [cell for cell in cells if is_chosen(options, cell.work, cell.name)]
    trials = run_plan(interleaved(chosen, traffics, options.repeats), options.partitions, console)
    content = {"conditions": conditions(options), **summarise(trials)}
    show(content, console)
    return write(content, trials, "latency", console, keep=options.keep)


def ended(measure: Callable[[], int]) -> int:
    """Call a benchmark, and turn what ends it before its time into a message and an exit status."""
    try:
        return measure()
    except (RuntimeError, ValueError, TimeoutError, KafkaException) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted, so nothing is written", file=sys.stderr)
        return INTERRUPTED


def conditions(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the numbers depend on besides the settings of each engine."""
    chosen = {name: value for name, value in vars(options).items() if name not in {"keep", "only"}}
    return {**describe_machine(), **chosen}


def write(content: dict[str, Any], trials: Sequence[Trial], stem: str, console: Console, *, keep: bool) -> int:
    """Write JSON and charts, to the kept folder only if every run counts; return the exit status."""
    invalid = [problem for trial in trials for problem in trial.problems]
    folder = KEPT if keep and not invalid else BUILD
    written = [write_json(content, folder / f"{stem}.json"), *draw(content, folder, stem)]
    console.print(f"written: {', '.join(map(str, written))}", soft_wrap=True)
    if invalid:
        print(
            f"{len(invalid)} findings make runs invalid, so these numbers do not count: {invalid[0]}", file=sys.stderr
        )
    return 1 if invalid else 0


def write_json(content: dict[str, Any], path: Path) -> Path:
    """Write JSON into a folder that need not exist yet, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A list of numbers stays on its line, so that a repeated run is a change that can be read.
    path.write_text(NUMBERS.sub(lambda match: " ".join(match[0].split()), json.dumps(content, indent=1)) + "\n")
    return path


def show(content: Mapping[str, Any], console: Console) -> None:
    """Print the table of the cells, as much of it as is no wider than the terminal."""
    shown, options = table(content["cells"]), console.options.update(width=MOST_WIDTH)
    left_out = list[str]()
    while console.measure(shown, options=options).maximum > console.width and len(shown.columns) > LEAST_COLUMNS:
        left_out.insert(0, " ".join(str(shown.columns.pop().header).split()))
    console.print(shown)
    if left_out:
        console.print(f"a wider terminal shows also: {', '.join(left_out)}")


def table(cells: Sequence[Mapping[str, Any]]) -> Table:
    """Return the cells as a table, user latency in milliseconds, what matters most first."""
    loads = {_load(cell) for cell in cells}
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "work": lambda cell: cell["work"],
        "engine": lambda cell: short_name(cell["engine"]),
    }
    if len(loads) > 1:
        columns["load"] = _load
    columns |= {name: partial(_shown, f"{name}_ms", ",.1f") for name in PERCENTILES}
    known = {title: name for title, name in NUMBERS_OF_A_CELL.items() if any(cell[name] is not None for cell in cells)}
    columns |= {title: partial(_shown, name, ",g") for title, name in known.items()}
    if any(cell["p50_least_ms"] != cell["p50_most_ms"] for cell in cells):
        columns |= {f"{name}\nleast-most": partial(_spread, name) for name in ("p50", "p99")}
    load = f" at {loads.pop()}" if len(loads) == 1 else ""
    shown = Table(title=f"due until received, ms, median of the runs{load}", box=None)
    for title in columns:
        shown.add_column(title, no_wrap=True, max_width=ENGINE_WIDTH)
    for cell in cells:
        shown.add_row(*(text(cell) for text in columns.values()))
    return shown


def _load(cell: Mapping[str, Any]) -> str:
    return f"{cell['rate']:g}/s {cell['arrivals']}"


def _spread(name: str, cell: Mapping[str, Any]) -> str:
    least, most = (_shown(f"{name}_{end}_ms", ",.1f", cell) for end in ("least", "most"))
    return least if least == most else f"{least}-{most}"


def _shown(name: str, form: str, cell: Mapping[str, Any]) -> str:
    return "-" if cell[name] is None else format(cell[name], form)


if __name__ == "__main__":
    sys.exit(main())
