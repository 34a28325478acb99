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
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from rich.console import Console
from rich.table import Column, Table

from examples.benchmarks.latency_cells import latency_cells
from examples.benchmarks.latency_chart import draw, short_name
from examples.benchmarks.load import Traffic
from examples.benchmarks.options import Lengths, is_chosen, parser_of, with_lengths
from examples.benchmarks.order_statistics import PERCENTILES
from examples.benchmarks.plan import interleaved, plain_console, run_plan
from examples.benchmarks.resources import machine
from examples.benchmarks.summary import summarise
from examples.benchmarks.trial import Trial

BUILD, KEPT = Path("build/latency"), Path("references/measured")
INTERRUPTED = 130
ENGINE_WIDTH = 44
NUMBERS = re.compile(r"\[[\s\d.,-]+\]")
FULL, QUICK = Lengths(3, 12, 100, 50), Lengths(1, 2, 6, 9)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do the runs, print and write what they have shown; return 1 if one of them does not count."""
    parser = parser_of("latency", __doc__, "--quick --only stateful")
    parser.add_argument("--rate", type=float, default=1000, help="records per second")
    parser.add_argument("--arrivals", nargs="+", choices=("constant", "poisson"), default=["constant"])
    options = with_lengths(parser.parse_args(arguments), FULL, QUICK)
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
    console.print(table(content["cells"]))
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
    return {**machine(), **chosen}


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


def table(cells: Sequence[dict[str, Any]]) -> Table:
    """Return the cells as a table, user latency in milliseconds."""
    shown = Table(
        Column("work", no_wrap=True),
        Column("engine", no_wrap=True, max_width=ENGINE_WIDTH),
        Column("records/s", no_wrap=True),
        *(*PERCENTILES, "gap", "times\nfloor", "below\nmicro-batch", "outputs\n/record", "CPU s\n/million"),
        title="due until received, ms: median of the runs (least-most)",
        box=None,
    )
    for cell in cells:
        load = f"{cell['rate']:g} {cell['arrivals']}"
        shown.add_row(
            *(cell["work"], short_name(cell["engine"]), load, *(_latency(cell, name) for name in PERCENTILES)),
            *(_number(cell[name]) for name in ("gap_median_ms", "times_floor", "below_micro_batch")),
            *(_number(cell[name]) for name in ("outputs_per_record", "cpu_s_per_million")),
        )
    return shown


def _latency(cell: Mapping[str, Any], name: str) -> str:
    if cell[f"{name}_ms"] is None:
        return "-"
    middle, least, most = (f"{cell[f'{name}{suffix}_ms']:,.1f}" for suffix in ("", "_least", "_most"))
    return middle if least == most or name not in {"p50", "p99"} else f"{middle} ({least}-{most})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,g}"


if __name__ == "__main__":
    sys.exit(main())
