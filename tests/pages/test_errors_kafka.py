"""What Kafka does to a real-time query: refused options, silence, and records that are gone."""

import time
from collections.abc import Mapping

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.realtime.slots import stop_completely
from scripts.pack import files
from scripts.text import markdown
from tests.helpers import end_offset, eventually, new_topic, produce
from tests.pages.refusals import failure
from tests.pages.running import Place, fresh_session

pytestmark = [pytest.mark.spark, pytest.mark.services]

PAGE = (files.ROOT / "references/errors_kafka.md").read_text(encoding="utf-8")
NO_BROKER = "localhost:1"
Row = tuple[str, ...]


def rows_of_the_page() -> list[Row]:
    """Return the rows of the table of refused options: what is given, to what, when it is refused, and how."""
    (table,) = (table for table in markdown.tables(PAGE) if table.header[0] == "given")
    return [tuple(cell.strip("`") for cell in cells[:4]) for _, cells in table.rows]


def start(
    session: SparkSession,
    kafka: str,
    source: Mapping[str, str],
    sink: Mapping[str, str],
    columns: tuple[str, ...] = ("value",),
    trigger: Mapping[str, object] | None = None,
) -> StreamingQuery:
    """Start a query from Kafka to Kafka."""
    reader = session.readStream.format("kafka").options(**{"kafka.bootstrap.servers": kafka, "subscribe": "clicks"})
    writer = reader.options(**source).load().selectExpr(*columns).writeStream.format("kafka").outputMode("update")
    writer = writer.options(**{"kafka.bootstrap.servers": kafka, "kafka.max.block.ms": "3000", **sink})
    query: StreamingQuery = writer.trigger(**(trigger or {"realTime": "5 minutes"})).start()  # type: ignore[call-overload]
    return query


@pytest.mark.parametrize("row", rows_of_the_page(), ids=lambda row: row[0])
def test_refused_option_fails_as_the_row_says(row: Row, place: Place) -> None:
    """Each row of the table names what is refused, when, and in which words."""
    given, to, when, message = row
    own = {"topic": "copy", "checkpointLocation": str(place.folder / "checkpoints" / str(time.monotonic_ns()))}
    if " as topic" in given:
        del own["topic"]
    option = dict([given.split("=", 1)]) if to != "rows" else {}
    source, sink = (option if to == "source" else {}), {**own, **(option if to == "sink" else {})}
    columns = ("value",) if to != "rows" else (given,) if given.endswith((" as value", " as key")) else ("value", given)

    moment, error = failure(lambda session: [start(session, place.kafka, source, sink, columns)], place)

    assert when == moment
    assert message in str(error)


def test_source_that_cannot_be_reached_fails_after_three_tries(place: Place) -> None:
    """No broker, and a plain port asked for TLS, stay silent for three timeouts."""
    short = {"kafka.request.timeout.ms": "2000", "kafka.default.api.timeout.ms": "4000"}
    cases = [{"kafka.bootstrap.servers": NO_BROKER}, {"kafka.security.protocol": "SSL"}]
    with fresh_session(place.spark) as session:
        began = time.monotonic()
        queries = [
            start(
                session, place.kafka, {**short, **case}, {"topic": "copy", "checkpointLocation": f"{place.folder}/t{n}"}
            )
            for n, case in enumerate(cases)
        ]

        eventually(lambda: all(query.exception() for query in queries), 40, "the end of both queries")

        assert 3 * 4 <= time.monotonic() - began < 30
        assert [None, None] == [query.lastProgress for query in queries]
        assert all("TimeoutException: Timed out waiting for a node" in str(query.exception()) for query in queries)


def test_default_timeouts_are_a_minute_each(place: Place) -> None:
    """So three tries of the source make three minutes, and a row for an unknown topic waits for one."""
    clients = place.spark.sparkContext._jvm.java.lang.Class  # type: ignore[union-attr]  # noqa: SLF001 - not public
    loader = place.spark.sparkContext._jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]  # noqa: SLF001

    def default(config: str, key: str) -> int:
        definition = clients.forName(config, True, loader).getMethod("configDef", None).invoke(None, None)
        return int(definition.defaultValues().get(key))

    assert 60_000 == default("org.apache.kafka.clients.admin.AdminClientConfig", "default.api.timeout.ms")
    assert 60_000 == default("org.apache.kafka.clients.producer.ProducerConfig", "max.block.ms")


def test_pattern_without_a_topic_commits_empty_batches_without_pause(place: Place) -> None:
    """The query is active, reads nothing, and does not wait for its interval."""
    with fresh_session(place.spark) as session:
        reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", place.kafka)
        rows = reader.option("subscribePattern", "nothing-.*").load()
        query = rows.writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()  # type: ignore[call-overload]

        eventually(lambda: query.exception() or len(query.recentProgress) >= 5, 60, "five batches")

        assert query.isActive
        assert {0} == {progress.numInputRows for progress in query.recentProgress}


def test_query_that_keeps_the_topic_column_feeds_itself(place: Place) -> None:
    """A sink without the option `topic` obeys the column, and the source's column names the source."""
    topic, options = new_topic(place.kafka, 1), {"checkpointLocation": f"{place.folder}/loop"}
    produce(place.kafka, topic, [(0, b"value")])
    with fresh_session(place.spark) as session:
        reads = {"subscribe": topic, "startingOffsets": "earliest"}

        query = start(session, place.kafka, reads, options, ("key", "value", "topic"))

        eventually(lambda: query.exception() or end_offset(place.kafka, topic) > 20, 60, "twenty rows out of one")
        assert query.exception() is None


@pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
def test_query_whose_unread_records_are_gone_continues_only_through_micro_batch(
    fail_on_data_loss: str, place: Place
) -> None:
    """Real-time mode fails whatever the option says; one micro-batch run on the same checkpoint skips the hole."""
    source, target = new_topic(place.kafka, 1), new_topic(place.kafka, 1)
    reads = {"subscribe": source, "startingOffsets": "earliest", "failOnDataLoss": fail_on_data_loss}
    writes = {"topic": target, "checkpointLocation": f"{place.folder}/{target}"}
    five = [(0, b"value")] * 5
    with fresh_session(place.spark) as session:
        produce(place.kafka, source, five)
        first = start(session, place.kafka, reads, writes, trigger={"realTime": "5 seconds"})
        eventually(lambda: first.exception() or first.lastProgress, 60, "a commit")
        stop_completely(session, first)
        produce(place.kafka, source, five)
        admin = AdminClient({"bootstrap.servers": place.kafka})
        for deleted in admin.delete_records([TopicPartition(source, 0, 8)]).values():
            deleted.result(30)

        dead = start(session, place.kafka, reads, writes)
        error = eventually(dead.exception, 60, "the end of the query")
        assert "OffsetOutOfRangeException" in str(error)
        assert 5 == end_offset(place.kafka, target)

        skips = {**reads, "failOnDataLoss": "false"}
        start(session, place.kafka, skips, writes, trigger={"availableNow": True}).awaitTermination(60)
        alive = start(session, place.kafka, reads, writes)
        produce(place.kafka, source, five[:1])
        eventually(lambda: alive.exception() or end_offset(place.kafka, target) == 5 + 2 + 1, 60, "all that is left")
        assert alive.exception() is None
