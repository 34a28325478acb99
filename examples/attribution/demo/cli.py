"""The command line of the demonstration."""

from collections.abc import Sequence
from dataclasses import dataclass

from examples.attribution.settings import Settings
from examples.command_line import arguments_of


@dataclass(frozen=True)
class DemoOptions(Settings):
    """The settings of the pipeline, and two options of the demonstration."""

    compare: bool = False
    """Run the same traffic in micro-batch mode afterwards, and print the ratios."""
    cluster: bool = False
    """Start a standalone cluster of two workers and run on it."""


def parse(arguments: Sequence[str] | None) -> DemoOptions:
    """Return the options of a command line; a wrong one ends the program with status 2."""
    program = "python -m examples.attribution.demo"
    return arguments_of(
        DemoOptions,
        arguments,
        program=program,
        description="Send ad traffic through the pipeline (Kafka, Spark, Kafka, PostgreSQL) and reconcile all results.",
        example=f"{program} --duration 60 --rate 200 --compare",
    )
