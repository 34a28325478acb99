"""
Keep a Kafka broker and a PostgreSQL server up until Ctrl-C, for a shell that wants to use them.

Nothing arrives; two `export` lines leave, for that shell to run.
Real-time jobs that are started from it use these servers instead of starting their own.
"""

import shlex
import signal
import sys
import threading
from types import FrameType

from examples.services import kafka_broker, postgres_server


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    """Run both servers; return 0 after Ctrl-C or the signal TERM, 1 when one of them does not start."""
    # A shell starts what runs in its background deaf to Ctrl-C, and TERM would end us without ending the block.
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with kafka_broker() as bootstrap_servers, postgres_server() as dsn:
            print(f"export KAFKA_BOOTSTRAP_SERVERS={shlex.quote(bootstrap_servers)}")
            print(f"export POSTGRES_DSN={shlex.quote(dsn)}", flush=True)
            print("Both servers are up; Ctrl-C ends them.", file=sys.stderr)
            threading.Event().wait()
    except KeyboardInterrupt:
        return 0
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
