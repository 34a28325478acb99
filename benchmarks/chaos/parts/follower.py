"""Store results in the database until SIGTERM, then read the topic to its end. The argument is the settings as JSON."""

import json
import os
import sys
import threading

from examples.attribution.attributed_to_postgres import attributed_to_postgres
from examples.attribution.settings import Settings
from spark_rtm.realtime.queries import stop_on_interrupt

POLL_SECONDS = 0.1


def main() -> None:
    """Run until SIGTERM, or until results cannot be stored."""
    stop = threading.Event()
    stop_on_interrupt(stop)
    settings = Settings(**json.loads(sys.argv[1]))
    with attributed_to_postgres(os.environ["KAFKA_BOOTSTRAP_SERVERS"], os.environ["POSTGRES_DSN"], settings) as results:
        while not stop.wait(POLL_SECONDS):
            results.raise_if_failed()
        results.finish()


if __name__ == "__main__":
    main()
