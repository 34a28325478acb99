"""Watch the topics of one real-time query, send canaries, and serve the metrics to Prometheus until Ctrl-C."""

import signal

from spark_rtm import require_or_exit

if __name__ == "__main__":  # Ctrl-C during the following imports ends the program without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    require_or_exit("monitoring", "monitoring", "confluent_kafka", "prometheus_client", "numpy", "pyspark")

import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from confluent_kafka import KafkaException
from prometheus_client import start_http_server

from spark_rtm.command_line import Argument, arguments_of
from spark_rtm.monitoring.topic_watcher import Canary, TopicWatcher
from spark_rtm.realtime.queries import stop_on_interrupt


def _json(text: str) -> str:
    json.loads(text)
    return text


@dataclass(frozen=True)
class Options:
    """The monitored query's topics, and the address for Prometheus."""

    source: Annotated[str, Argument(is_positional=True)]
    """Topic that the query reads."""
    target: Annotated[str, Argument(is_positional=True)]
    """Topic that the query writes."""
    rejects: Annotated[str, Argument(is_positional=True)]
    """Topic for the rejected records of the query."""
    canary: Annotated[str, Argument("JSON", _json)]
    """Value of a canary record. The canary's key replaces KEY."""
    partitions: int = 1
    """Number of partitions of the source topic."""
    port: int = 9109
    """Port that serves the metrics."""
    address: Annotated[str, Argument("ADDRESS")] = "127.0.0.1"
    """Listen address of the metrics server, which requires no authentication."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until Ctrl-C and return 0."""
    options = arguments_of(
        Options,
        arguments,
        program="python -m spark_rtm.monitoring",
        description="Watch the topics of the query at KAFKA_BOOTSTRAP_SERVERS, and serve metrics.",
        example="""python -m spark_rtm.monitoring payments payments-checked payments-rejected
        --canary '{"card":"KEY","amount_cents":0}'""",
    )
    servers = os.environ.get("KAFKA_BOOTSTRAP_SERVERS")
    if not servers:
        print(
            "KAFKA_BOOTSTRAP_SERVERS is not set, so there is no broker to watch; set the variable to HOST:PORT",
            file=sys.stderr,
        )
        return 2
    try:
        server, _ = start_http_server(options.port, addr=options.address)
    except OSError as error:
        place = f"port {options.port} of {options.address}"
        print(f"cannot serve metrics at {place}: {error.strerror}; use another --port or --address", file=sys.stderr)
        return 2
    stop = threading.Event()
    stop_on_interrupt(stop)
    try:
        _watch(options, servers, stop)
    except KeyboardInterrupt:
        print("interrupted again; some canaries may not have been sent", file=sys.stderr)
        return 130
    except KafkaException as error:
        print(f"the broker at {servers} rejected a request, so no topic is watched: {error}", file=sys.stderr)
        return 1
    finally:
        server.shutdown()
    return 0


def _watch(options: Options, servers: str, stop: threading.Event) -> None:
    watcher = TopicWatcher(servers, options.source, options.target, options.rejects)
    canary = Canary(
        servers, options.source, options.partitions, lambda key: options.canary.replace("KEY", key).encode()
    )
    if not watcher.is_connected:
        missing = f"no broker answers at {servers}, or a topic does not exist"
        print(f"{missing}; lag and latency are served as soon as the broker and the topics exist", file=sys.stderr)
    print(f"serving metrics at port {options.port}; press Ctrl-C to stop", file=sys.stderr)
    try:
        while not stop.is_set():
            canary.send_if_due()
            canary.receive(watcher.poll())
    finally:
        canary.close()
        watcher.close()


if __name__ == "__main__":
    sys.exit(main())
