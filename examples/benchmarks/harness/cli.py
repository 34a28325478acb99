"""
The options that the latency benchmarks share.

A description arrives, a parser leaves; options that were not given get the lengths of a full or of a quick look.
A run must be several intervals of real-time mode long, or it would hold no batch boundary.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Lengths:
    """How long a benchmark takes, if nothing else is said."""

    repeats: int
    """Runs of each engine, interleaved."""
    interval_seconds: float
    """Trigger interval of real-time mode."""
    warm_up_seconds: float
    """
    Traffic before that does not count; longer than an interval, because the first boundary is a cold one.

    A new aggregation starts slowly and must also work off what has queued up meanwhile: after six seconds of traffic it
    still showed 1.6 s at p50, after twelve 16 ms.
    """
    measured_seconds: float
    """At least three intervals and a half, or a run holds too few boundaries to count."""


QUICK = Lengths(1, 2, 12, 9)
"""Of a quick look, where a benchmark has no other."""
HELP: Mapping[str, str] = {
    "repeats": "runs of each, interleaved",
    "interval_seconds": "trigger interval of real-time mode",
    "warm_up_seconds": "traffic before that does not count",
    "measured_seconds": "at least three and a half intervals",
}


def parser_of(module: str, description: str | None, example: str) -> argparse.ArgumentParser:
    """Return a parser with the options that all of them have."""
    prog = f"python -m examples.benchmarks.{module}"
    parser = argparse.ArgumentParser(prog=prog, description=description, epilog=f"example: {prog} {example}")
    parser.add_argument("--quick", action="store_true", help="short runs, for a look")
    parser.add_argument("--keep", action="store_true", help="write to references/measured if every run counts")
    parser.add_argument("--only", action="append", metavar="TEXT", help="only what has this in its work and engine")
    parser.add_argument("--partitions", type=int, default=2, help="of each topic")
    for name, text in HELP.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int if name == "repeats" else float, help=text)
    return parser


def with_lengths(options: argparse.Namespace, full: Lengths, quick: Lengths = QUICK) -> argparse.Namespace:
    """Fill in the lengths that were not given."""
    lengths = quick if options.quick else full
    for name in HELP:
        if getattr(options, name) is None:
            setattr(options, name, getattr(lengths, name))
    return options


def is_chosen(options: argparse.Namespace, work: str, engine: str) -> bool:
    """Tell whether `--only` lets an engine through."""
    return not options.only or any(text in f"{work}, {engine}" for text in options.only)
