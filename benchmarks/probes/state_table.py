"""Count Kafka records per key in a PostgreSQL table, without Spark."""

import multiprocessing
import time
from collections import Counter
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import psycopg
from confluent_kafka import OFFSET_BEGINNING, OFFSET_STORED, Consumer, TopicPartition

from spark_rtm.kafka.consumer import CONSUMER, is_record
from spark_rtm.realtime.queries import wait_until

SUM = "select sum(n) from counts"
IDLE_SECONDS, LINGER_SECONDS, MAX_RECORDS, DEADLINE_SECONDS = 6, 0.002, 5_000, 60
TABLES = """
drop table if exists counts, counts_offsets;
create table counts (key text primary key, n bigint not null) with (fillfactor = 90);
create table counts_offsets (partition int primary key, next_offset bigint not null);
"""
INCREMENT = """
insert into counts as t (key, n) select * from unnest(%s::text[], %s::bigint[])
    on conflict (key) do update set n = t.n + excluded.n
"""
# One statement is one transaction and one round trip.
GUARDED = f"""
with counted as ({INCREMENT})
insert into counts_offsets select * from unnest(%s::int[], %s::bigint[])
    on conflict (partition) do update set next_offset = excluded.next_offset
"""


def single(table: psycopg.Connection[Any], query: str, *values: Any) -> Any:
    """Return the only value of a query, or 0 if the value is null or there is no row."""
    row = table.execute(query.encode(), values).fetchone()
    return (row and row[0]) or 0


def count_in_table(
    servers: str, topic: str, dsn: str, statement: str, measured_from: int = 0, give: Connection | None = None
) -> None:
    """
    Count the records of a topic until none arrive, then send the latencies from record `measured_from` on.

    `GUARDED` stores the offsets together with the counts. With `INCREMENT`, Kafka's client stores them.
    """
    guarded = statement == GUARDED
    table, latencies = psycopg.connect(dsn, autocommit=True), list[float]()
    confs = {"auto.offset.reset": "earliest", "group.id": topic, "enable.auto.commit": not guarded}
    consumer = Consumer({**CONSUMER, "bootstrap.servers": servers, **confs})
    rows = table.execute("select partition, next_offset from counts_offsets").fetchall()
    stored: dict[int, int] = dict(rows)
    partitions = consumer.list_topics(topic, DEADLINE_SECONDS).topics[topic].partitions
    first = OFFSET_BEGINNING if guarded else OFFSET_STORED
    consumer.assign([TopicPartition(topic, partition, stored.get(partition, first)) for partition in partitions])
    seen = time.monotonic()
    while time.monotonic() < seen + IDLE_SECONDS:
        records = [message for message in consumer.consume(MAX_RECORDS, LINGER_SECONDS) if is_record(message)]
        if not records:
            continue
        seen, counts = time.monotonic(), Counter((message.key() or b"").decode() for message in records)
        offsets = {message.partition(): (message.offset() or 0) + 1 for message in records}
        arrays = [list(counts), list(counts.values()), list(offsets), list(offsets.values())]
        table.execute(statement.encode(), arrays if guarded else arrays[:2], prepare=True)
        now_ms = time.time() * 1000
        latencies += [now_ms - m.timestamp()[1] for m in records if int(m.value() or b"0") >= measured_from]
    if give:
        give.send(latencies)
    consumer.close()


def start_counting(
    servers: str, topic: str, dsn: str, statement: str, measured_from: int = 0
) -> tuple[SpawnProcess, Connection]:
    """Return an unstarted process that will run `count_in_table`, and the receiving end of its pipe."""
    processes = multiprocessing.get_context("spawn")
    receive, give = processes.Pipe(duplex=False)
    arguments = (servers, topic, dsn, statement, measured_from, give)
    return processes.Process(target=count_in_table, args=arguments, daemon=True), receive


def counted_twice(servers: str, topic: str, dsn: str, statement: str, total: int) -> int:
    """Kill a consumer that has counted part of a topic, restart it, and return the number of records counted twice."""
    with psycopg.connect(dsn, autocommit=True) as table:
        table.execute(TABLES)
        (first, _), (second, latencies) = (start_counting(servers, topic, dsn, statement, total) for _ in range(2))
        first.start()
        wait_until(lambda: single(table, SUM) > 0, DEADLINE_SECONDS, "a first count")
        first.kill()
        first.join()
        second.start()
        wait_until(lambda: single(table, SUM) >= total, DEADLINE_SECONDS, f"{total} counts")
        latencies.recv()
        second.join()
        return int(single(table, SUM)) - total
