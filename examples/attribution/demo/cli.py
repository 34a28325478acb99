"""The command line of the demonstration."""

from collections.abc import Sequence
from dataclasses import dataclass

from examples.attribution.settings import DemoSettings
from spark_rtm.command_line import arguments_of

PROGRAM = "python -m examples.attribution.demo"
HIGH_RATE = 500
"""Rate (records per second) from which five queries on two cores need the code of the JVM's optimizing compiler."""
HIGH_RATE_DEFAULTS = {
    # The optimizing compiler itself needs CPU time. After a warm-up of 25 s, half of the results are still seconds
    # late.
    "warm_up_seconds": 60.0,
    # Spark plans each batch again, and compiling the planner occupies the optimizing compiler. Longer intervals mean
    # fewer plans.
    "interval_seconds": 30,
    "python_interval_seconds": 10.0,
}
CLUSTER_RATE = 60
"""Default rate (records per second) on a cluster. It is low because each record costs more CPU time there."""


@dataclass(frozen=True)
class DemoOptions(DemoSettings):
    """The pipeline's settings and the options of the demonstration."""

    compare: bool = False
    """Also run the first query in micro-batch mode, at the same time and on the same records."""
    publish: bool = False
    """
    With --compare, run the whole pipeline in real-time mode and then in micro-batch mode, and compare both runs.

    The latencies of both runs are written to references/measured/demo.json.
    """
    cluster: bool = False
    """Start a standalone Spark cluster with two workers, and run the queries on it."""

    def __post_init__(self) -> None:
        """Raise ValueError if a setting or a combination of options is invalid."""
        super().__post_init__()
        if (self.publish and not self.compare) or (self.compare and self.trigger != "real-time"):
            raise ValueError(
                f"publish is True, compare is {self.compare!r} and trigger is {self.trigger!r}, but a "
                f"comparison needs both modes; use --publish with --compare, and --compare with --trigger real-time"
            )


def parse(arguments: Sequence[str] | None) -> DemoOptions:
    """Parse the command line into options. An invalid option ends the program with status 2."""
    return arguments_of(
        DemoOptions,
        arguments,
        program=PROGRAM,
        description="Send ad traffic through the pipeline (Kafka, Spark, Kafka, PostgreSQL) and check all results.",
        example=f"{PROGRAM} --duration 60 --rate 200 --compare",
        presets={"cluster": {"rate": CLUSTER_RATE}, f"rate {HIGH_RATE}": HIGH_RATE_DEFAULTS},
    )
