from functools import partial

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.realtime.failures import failure_of
from spark_rtm.realtime.keeper import Decision, Keeper, judge
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services.child import running
from spark_rtm.services.kafka import LocalKafka
from tests.helpers import end_offset, eventually, kafka_rows, new_topic, produce, start_to_kafka, texts_of

pytestmark = [pytest.mark.spark, pytest.mark.services]

QUERIES: dict[str, dict[str, str]] = {
    "kept": {"kafka.delivery.timeout.ms": "3000", "kafka.request.timeout.ms": "1000"},
    "full": {"kafka.buffer.memory": "40000", "kafka.max.block.ms": "2000"},
    "waiting": {},
}


Outage = tuple[dict[str, list[str]], list[Decision], BaseException]
"""The values in each query's target topic, the keeper's decisions, and the failure of the query `full`."""


@pytest.fixture(scope="module")
def outage(spark: SparkSession, kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Outage:
    folder, decisions = tmp_path_factory.mktemp("outage"), list[Decision]()
    with running(LocalKafka()) as broker:
        servers = broker.bootstrap_servers
        sources, targets = ({name: new_topic(at, 1) for name in QUERIES} for at in (kafka, servers))

        def copy(name: str) -> StreamingQuery:
            rows = kafka_rows(spark, kafka, sources[name]).select("value")
            options = {"topic": targets[name], **QUERIES[name]}
            return start_to_kafka(rows, servers, folder / name, "5 minutes", **options)

        keeper = Keeper(spark, {"kept": partial(copy, "kept")}, on_decision=decisions.append)
        keeper.start()
        full, waiting = copy("full"), copy("waiting")
        for source in sources.values():
            produce(kafka, source, [(0, b"before")])
        for target in targets.values():
            eventually(lambda: keeper.poll() and end_offset(servers, target) == 1, 60, "the first row")  # noqa: B023

        broker.kill()
        produce(kafka, sources["full"], [(0, b"0" * 10_000)] * 5)
        produce(kafka, sources["waiting"], [(0, b"during")])

        def is_decided() -> bool:
            # The producer reports its error when the next row arrives.
            produce(kafka, sources["kept"], [(0, b"during")])
            return keeper.poll() and bool(decisions)

        eventually(is_decided, 60, "a decision")
        error = eventually(full.exception, 60, "the failure")
        broker.start()
        produce(kafka, sources["waiting"], [(0, b"after")])

        rows = 1 + end_offset(kafka, sources["kept"])
        eventually(lambda: keeper.poll() and end_offset(servers, targets["kept"]) == rows, 60, "all rows")
        wait_until(lambda: end_offset(servers, targets["waiting"]) == 3, 60, "all rows", [waiting])
        keeper.stop()
        waiting.stop()
        assert error is not None
        return {name: texts_of(servers, topic) for name, topic in targets.items()}, decisions, error


def test_outage_beyond_the_delivery_timeout_ends_the_query(outage: Outage) -> None:
    """The keeper restarts the query, which writes the rows of its open batch again."""
    written, [decision], _ = outage
    first, second, *during = written["kept"]

    assert ("before", "before", {"during"}) == (first, second, set(during))
    assert "TimeoutException" == decision.failure.name
    assert "a server did not respond in time" in str(decision)


def test_full_buffer_during_an_outage_ends_the_query(outage: Outage) -> None:
    """With the default delivery timeout, a row waits for space until `max.block.ms`, then the query fails."""
    *_, error = outage
    assert "BufferExhaustedException: Failed to allocate" in str(error)
    assert "within the configured max blocking time 2000 ms" in str(error)
    assert "a server did not respond in time" in str(judge(failure_of("full", error, 0), []))


def test_outage_within_the_delivery_timeout_causes_no_duplicates(outage: Outage) -> None:
    assert ["before", "during", "after"] == outage[0]["waiting"]
