"""Run the processor on a local Kafka broker, and compare its results with a replay of the topics."""

import json
import random
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.acknowledgements.matcher import (
    ACKS,
    MATCHES,
    REJECTED,
    REQUESTS,
    TICKS,
    Result,
    arrivals_of,
    matches_in_python,
    matches_in_scala,
    replay,
    sink_rows_of,
)
from spark_rtm.command_line import arguments_of
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.kafka.ticks import ticking
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.control import source_format, stop
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import KAFKA_SINK, wait_until
from spark_rtm.realtime.slots import preflight
from spark_rtm.services import kafka_broker, new_folder
from spark_rtm.services.java import filter_stderr
from spark_rtm.services.spark import build_session

PARTITIONS, SLOTS = 2, 9
DEADLINE_SECONDS = 120


@dataclass(frozen=True)
class Options:
    """Options for the program."""

    python: bool = False
    """Run the Python processor. The default is the Scala processor."""
    transactions: int = 300
    """Number of transactions."""
    wait_ms: int = 5_000
    """Milliseconds after which a transaction ends."""
    seed: int = 0
    """Seed of the traffic."""


def traffic(options: Options) -> Iterator[tuple[str, bytes, bytes]]:
    """
    Yield the topic, key and value of each record.

    Of ten transactions, six have one to three acknowledgements, half of which arrive before the request. Two have no
    acknowledgement, one has no request, and one is sent twice. Two more records are rejected: one cannot be decoded,
    and one has no id.
    """
    chance = random.Random(options.seed)
    for number in range(options.transactions):
        name, kind = f"t{number}", number % 10
        request, acks = [(REQUESTS, f"r{number}")], [(ACKS, f"a{number}.{n}") for n in range(chance.randint(1, 3))]
        records = {6: request, 7: request, 8: acks, 9: request + acks + request}.get(kind, request + acks)
        if kind < 6 and chance.random() < 0.5:
            records.reverse()
        for topic, identity in records:
            yield topic, name.encode(), json.dumps({"transaction_id": name, "id": identity}).encode()
    yield ACKS, b"bad", b"{"
    yield ACKS, b"t0", b'{"transaction_id": "t0"}'


def start(
    spark: SparkSession, servers: str, prefix: str, matches: Callable[..., DataFrame], trigger: Mapping[str, Any]
) -> StreamingQuery:
    """Create the topics and start the query. `matches` converts arrivals and ticks to results."""
    topics = [f"{prefix}{name}" for name in (REQUESTS, ACKS, MATCHES, REJECTED)]
    partitions = ensure_topics(servers, topics, PARTITIONS)
    source = spark.readStream.format(source_format()).option("kafka.bootstrap.servers", servers)
    source = source.option("startingOffsets", "earliest")
    records = source.option("subscribe", ",".join(topics[:2])).load()
    ticks = source.option("subscribe", f"{prefix}{TICKS}").load()
    rows = sink_rows_of(matches(arrivals_of(records, prefix), ticks), prefix)
    if "realTime" in trigger:
        preflight(spark, {MATCHES: (rows, sum(partitions[topic] for topic in topics[:2]) + 1)})
    writer = rows.writeStream.format("kafka").options(**KAFKA_SINK).option("kafka.bootstrap.servers", servers)
    writer = writer.option("checkpointLocation", str(new_folder("checkpoint"))).queryName(prefix + MATCHES)
    query: StreamingQuery = writer.outputMode("update").trigger(**trigger).start()
    return query


def send(servers: str, prefix: str, options: Options) -> set[Result]:
    """Send the traffic, and return the results that the replay expects."""
    with Producer({"bootstrap.servers": servers, "linger.ms": 0}) as producer:
        for topic, key, value in traffic(options):
            producer.produce(f"{prefix}{topic}", value, key)
    return replay(*([m.value() for m in read_topic(servers, f"{prefix}{name}")] for name in (REQUESTS, ACKS)))


def results_in(servers: str, prefix: str) -> set[Result]:
    """Return the results in the topic."""
    values = (json.loads(message.value() or b"{}") for message in read_topic(servers, f"{prefix}{MATCHES}"))
    return {(v["transaction_id"], v.get("request_id"), v.get("ack_id"), v["status"]) for v in values}


def main(arguments: list[str] | None = None) -> int:
    """Return 0 if the results equal the replay, else 1."""
    options = arguments_of(
        Options,
        arguments,
        program="python -m examples.acknowledgements",
        description="Match requests with acknowledgements in real-time mode, and compare the results with a replay.",
        example="python -m examples.acknowledgements --python",
    )
    language = "Python" if options.python else "Scala"
    print(f"Starting a Kafka broker and Spark, which takes about 20 s; the processor is in {language} ...", flush=True)
    with filter_stderr(), kafka_broker() as servers:
        prefix = f"{uuid.uuid4().hex[:8]}."
        spark = build_session("acknowledgements", slots=SLOTS)
        with ticking(servers, f"{prefix}{TICKS}"):
            matches = partial(matches_in_python if options.python else matches_in_scala, wait_ms=options.wait_ms)
            query = start(spark, servers, prefix, matches, {"realTime": "5 minutes"})
            assert_real_time(query)
            expected = send(servers, prefix, options)
            print(f"sent the records of {options.transactions:,} transactions; waiting for the results ...", flush=True)
            what = f"{len(expected):,} results"
            wait_until(lambda: len(results_in(servers, prefix)) >= len(expected), DEADLINE_SECONDS, what, [query])
            stop(query)
            found = results_in(servers, prefix)
        spark.stop()
    for status in ("matched", "unanswered", "orphan"):
        print(f"{status:<11} {sum(result[-1] == status for result in found):>6,}")
    print(f"{len(found ^ expected)} differences from the replay, which has {len(expected):,} results")
    return 0 if found == expected else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KeyboardInterrupt, RuntimeError, TimeoutError) as error:
        sys.exit(str(error) or "interrupted")
