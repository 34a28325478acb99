"""
Run the five queries like a production job: start them on their checkpoints, and keep them running.

The arguments of the program are the settings as JSON and, in a run with a standby, the path of the lock file that both
drivers share. The program logs each decision of the keeper.
"""

import json
import logging
import os
import sys
from contextlib import nullcontext
from pathlib import Path

from examples.attribution.pipeline import query_starters
from examples.attribution.settings import Settings
from examples.attribution.topics import TICKS_TOPIC, TOPICS
from spark_rtm.kafka.ticks import ticking
from spark_rtm.realtime.keeper import Limits, Starter, keep
from spark_rtm.realtime.queries import KAFKA_SINK
from spark_rtm.realtime.standby import Standby
from spark_rtm.services.spark import FAST_COMPILER_CONFS, build_session

DELIVERY_SECONDS = 8
"""`delivery.timeout.ms` in seconds: less than the default of two minutes, so that a short outage can exceed it."""
SHORT_DELIVERY = {
    "kafka.delivery.timeout.ms": f"{DELIVERY_SECONDS}000",
    # Kafka requires a request timeout below the delivery timeout.
    "kafka.request.timeout.ms": f"{DELIVERY_SECONDS - 2}000",
}
LIMITS = Limits(max_pause_seconds=4, max_failures=10, window_seconds=60)
"""Limits for a run, which has more failures per minute than a production job per day: only the last minute counts."""


def main() -> None:
    """Run until SIGTERM, or until a query cannot continue."""
    logging.basicConfig(format="%(name)s: %(message)s")
    logging.getLogger("spark_rtm.realtime.keeper").setLevel(logging.INFO)
    settings, lock_path = Settings(**json.loads(sys.argv[1])), sys.argv[2:]
    spark = build_session(
        "chaos",
        master=settings.master,
        slots=settings.slots,
        shuffle_partitions=settings.shuffle_partitions,
        confs={
            **FAST_COMPILER_CONFS,
            # The only cluster of a run is on this machine, so its workers can read the packages of this program. Each
            # executor would unpack the archives of `job_confs` again, and compile all modules in them.
            "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        },
    )
    partitions = dict.fromkeys(TOPICS, settings.partitions)
    servers = os.environ["KAFKA_BOOTSTRAP_SERVERS"]
    sink = {**KAFKA_SINK, **SHORT_DELIVERY}

    def starters(folder: Path) -> dict[str, Starter]:
        found = query_starters(settings, spark, servers, partitions, str(folder), sink)
        # The results come from the queries without Python, which start last in a job without a standby.
        return dict(reversed(found.items())) if lock_path else found

    standby = Standby(Path(lock_path[0]), starters) if lock_path else None
    has_ticks = settings.python_trigger == "real-time"
    with ticking(servers, settings.topic(TICKS_TOPIC)) if has_ticks else nullcontext():
        keep(spark, starters(Path(settings.checkpoint_dir)), None, LIMITS, standby, commit_every=settings.exactly_once)


if __name__ == "__main__":
    main()
