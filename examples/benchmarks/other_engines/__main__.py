"""
Measure Kafka Streams, Flink and Quix Streams beside real-time mode and the raw client echo: `make bench-other-engines`.

Writes tables, `other_engines.json` and its charts. Exit status 1 if a run is invalid.
Real-time mode is measured across its batch boundaries; an engine that cannot be installed is reported with the reason.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence

from examples.benchmarks.harness.baseline import raw_echo
from examples.benchmarks.harness.cli import Lengths, is_chosen, parser_of, with_lengths
from examples.benchmarks.harness.load_generator import Traffic
from examples.benchmarks.harness.plan import interleaved, plain_console, run_plan
from examples.benchmarks.harness.run import Cell
from examples.benchmarks.harness.workloads import Work
from examples.benchmarks.latency import conditions, ended, show, write
from examples.benchmarks.other_engines.engine import Peer, prepare
from examples.benchmarks.other_engines.flink import FLINK
from examples.benchmarks.other_engines.kafka_streams import KAFKA_STREAMS
from examples.benchmarks.other_engines.quix import QUIX
from examples.benchmarks.other_engines.venv import to_stderr
from examples.benchmarks.results.summary import summarise
from examples.benchmarks.spark.variants import recommended, spark_cell

PEERS = (KAFKA_STREAMS, FLINK, QUIX)
WORKS: tuple[Work, ...] = ("stateless", "stateful")
FULL, QUICK = Lengths(2, 30, 45, 120), Lengths(1, 2, 9, 9)


def main(arguments: Sequence[str] | None = None, peers: Sequence[Peer] = PEERS) -> int:
    """Fetch what is missing, do the runs, print and write what they have shown; return 1 if one does not count."""
    parser = parser_of("other_engines", __doc__, "--quick --only echo --only Flink --only real-time")
    parser.add_argument("--rates", type=float, nargs="+", default=[1000], help="records per second")
    options = with_lengths(parser.parse_args(arguments), FULL, QUICK)
    return ended(lambda: _measure(options, peers))


def _measure(options: argparse.Namespace, peers: Sequence[Peer]) -> int:
    console, missing = plain_console(), prepare(peers, to_stderr)
    ready = [peer for peer in peers if peer.name not in missing]
    cells = peer_cells(ready, options.interval_seconds, quick=options.quick)
    chosen = [cell for cell in cells if is_chosen(options, cell.work, cell.name)]
    traffics = [Traffic(rate, options.warm_up_seconds, options.measured_seconds) for rate in options.rates]
    trials = run_plan(interleaved(chosen, traffics, options.repeats), options.partitions, console)
    content = {"conditions": conditions(options), "peers": described(peers, missing), **summarise(trials)}
    show(content, console)
    for name, reason in missing.items():
        console.print(f"{name} is not measured: {reason}", style="yellow", soft_wrap=True)
    return write(content, trials, "other_engines", console, keep=options.keep)


def peer_cells(peers: Sequence[Peer], interval_seconds: float, *, quick: bool = False) -> list[Cell]:
    """Return the floor, and for each work the peers and real-time mode."""
    cells = [Cell("raw echo", "echo", raw_echo)]
    for work in WORKS:
        cells += [Cell(peer.name, work, peer.start, settings=peer.settings) for peer in peers]
        cells.append(spark_cell("real-time", work, recommended(interval_seconds, quick=quick)))
    return cells


def described(peers: Sequence[Peer], missing: Mapping[str, str]) -> list[dict[str, str]]:
    """Return what was fetched for each peer, and the reason for each that is not measured."""
    return [
        {"engine": peer.name, "packages": ", ".join(peer.packages), "not_measured": missing.get(peer.name, "")}
        for peer in peers
    ]


if __name__ == "__main__":
    sys.exit(main())
