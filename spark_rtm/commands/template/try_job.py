"""Run `job.py` with a Kafka broker on this machine: send an order each second, and print its result, until Ctrl-C."""

import itertools
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

from confluent_kafka import Message, Producer

from job import PARTITIONS, REJECTS, SOURCE, TARGET
from spark_rtm.kafka.consumer import consumer_from_start
from spark_rtm.services import LocalKafka, new_folder, running
from spark_rtm.services.java import filter_stderr
from spark_rtm.testing.records import received

ORDERS = ('{"order_id": "A-1", "amount_cents": 2500}', '{"order_id": "A-2", "amount_cents": 250000}', "{broken")


def main() -> None:
    """Start the broker and the job, follow the records, and wait until the job has stopped."""
    print("Starting a Kafka broker and the job, which takes about 20 s ...", flush=True)
    with filter_stderr(), running(LocalKafka()) as broker:
        servers, checkpoints = broker.bootstrap_servers, str(new_folder("checkpoints"))
        kept = {name: value for name, value in os.environ.items() if name != "KAFKA_USER"}
        variables = {**kept, "KAFKA_BOOTSTRAP_SERVERS": servers, "CHECKPOINTS": checkpoints}
        with subprocess.Popen([sys.executable, "job.py"], env=variables, stdout=subprocess.PIPE, text=True) as job:
            with suppress(KeyboardInterrupt):  # the job gets Ctrl-C, too
                assert job.stdout
                print(job.stdout.readline(), end="", flush=True)
                follow(servers, job)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # `uv run` repeats Ctrl-C
            print("Stopping the job and the broker ...", flush=True)
            try:
                job.wait(60)
            except subprocess.TimeoutExpired:  # only this program got Ctrl-C
                job.terminate()
    sys.exit(job.returncode)


def follow(servers: str, job: subprocess.Popen[str]) -> None:
    """Send the orders again and again, and print each result with its latency, while the job runs."""
    producer, sent = Producer({"bootstrap.servers": servers}), list[Message]()
    consumer = consumer_from_start(servers, dict.fromkeys((TARGET, REJECTS), PARTITIONS))
    for order in itertools.cycle(ORDERS):
        producer.produce(SOURCE, order, on_delivery=lambda _, message: sent.append(message))
        producer.flush()
        while not (result := consumer.poll(0.1)):
            if job.poll() is not None:
                return
        record = received(result)
        text = dict(record.headers).get("reason") or record.value or b""
        latency_ms = record.appended_ms - sent[-1].timestamp()[1]
        print(f"{latency_ms:>6,} ms  {order} -> {result.topic()}: {text.decode()}", flush=True)
        time.sleep(1)


if __name__ == "__main__":
    main()
