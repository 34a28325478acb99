"""Run the query of an `Order`; the process ends when it is killed or when the query fails."""

import json
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from spark_rtm.prove.subjects.bench import DEFAULT_SLOTS, MIN_INTERVAL, jvm
from spark_rtm.prove.subjects.build import Origin, rows_of
from spark_rtm.prove.subjects.other_process import COMMIT, GO, ORDER, RUNNING, Order
from spark_rtm.prove.subjects.target import load
from spark_rtm.realtime import control
from spark_rtm.realtime.queries import raise_if_failed, wait_until
from spark_rtm.services.spark import build_session
from spark_rtm.testing.trial import Trial

# The process starts Spark while other checks run, and then waits for its turn.
WAIT_SECONDS = 3_600.0
POLL_SECONDS = 0.05


def main(folder: Path) -> None:
    """Start Spark, wait for `GO`, run the query, report the process id of the JVM, and commit at each `COMMIT`."""
    content = json.loads((folder / ORDER).read_text())
    order = Order(**{**content, "origin": Origin(**content["origin"])})
    spark = build_session("prove", slots=order.slots or DEFAULT_SLOTS, confs=MIN_INTERVAL)
    target = load(order.origin.target, order.origin.arguments, order.origin.confs)
    wait_until((folder / GO).exists, WAIT_SECONDS, "the check of restarts")
    rows = rows_of(spark, order.kafka, target, order.origin)
    partitions: Mapping[str, int] = order.origin.partitions
    trial = Trial(spark, order.kafka, rows, partitions, Path(order.checkpoints), order.target)
    query = trial.start(order.checkpoint, order.interval_ms)
    partial = folder / f"{RUNNING}.partial"
    process = jvm()
    partial.write_text(str(process.pid if process else ""))
    partial.rename(folder / RUNNING)
    obeys, pause = control.obeys(query), threading.Event()
    while True:
        raise_if_failed([query])
        if (folder / COMMIT).exists():
            if obeys:
                control.commit(query)
            (folder / COMMIT).unlink()
        pause.wait(POLL_SECONDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
