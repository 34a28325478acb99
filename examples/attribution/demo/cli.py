"""
Read the options of the command line.

What arrives are arguments; what leaves are settings, or an error message with the remedy and exit status 2.
Real-time mode demands nothing here: what a run needs is checked by the settings, and its slots by the preflight.
"""

import argparse
from collections.abc import Sequence

from examples.attribution.settings import Settings


def parse(arguments: Sequence[str] | None) -> tuple[Settings, bool, bool]:
    """Return the settings, whether to compare both triggers, and whether to start a cluster."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.attribution.pipeline",
        description="Kafka -> Spark real-time mode -> Kafka -> PostgreSQL, with traffic, reconciliation and latencies.",
        epilog="example: python -m examples.attribution.pipeline --seconds 60 --rate 200 --compare",
    )
    default = Settings()
    parser.add_argument("--seconds", type=float, default=default.seconds, help="measured traffic; 0: until Ctrl-C")
    parser.add_argument("--warm-up-seconds", type=float, default=default.warm_up_seconds, help="traffic before that")
    parser.add_argument("--rate", type=float, default=default.rate, help="records per second")
    parser.add_argument("--arrivals", choices=("constant", "poisson"), default=default.arrivals)
    parser.add_argument("--trigger", choices=("real-time", "micro-batch"), default=default.trigger)
    parser.add_argument("--interval-seconds", type=int, default=default.interval_seconds, help="between commits, >= 5")
    for name, what in (("timeouts", "time-outs"), ("credits", "credit")):
        parser.add_argument(
            f"--{name}-interval-seconds",
            type=float,
            default=vars(default)[f"{name}_interval_seconds"],
            help=f"between batches of {what}, always in micro-batch",
        )
    parser.add_argument("--time-scale", type=int, default=default.time_scale, help="divisor of all windows")
    parser.add_argument("--seed", type=int, default=default.seed, help="of the traffic")
    parser.add_argument("--topic-prefix", default=default.topic_prefix, help="to keep runs apart on one broker")
    parser.add_argument(
        "--checkpoints", default=default.checkpoints, help="folder that is kept, to go on after a crash"
    )
    parser.add_argument("--slots", type=int, default=default.slots, help="task slots of a local master or the cluster")
    parser.add_argument("--master", default=default.master, help="such as spark://host:7077; empty: local")
    parser.add_argument("--cluster", action="store_true", help="start a standalone cluster and run on it")
    parser.add_argument("--compare", action="store_true", help="run in micro-batch as well; print the ratio")
    options = vars(parser.parse_args(arguments))
    compare, cluster = options.pop("compare"), options.pop("cluster")
    try:
        return Settings(**options), compare, cluster
    except ValueError as error:
        parser.error(str(error))
