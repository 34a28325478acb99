import time
from collections.abc import Mapping

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from scripts.pack import files
from spark_rtm.realtime.failures import failure_of
from spark_rtm.realtime.keeper import judge
from spark_rtm.realtime.queries import stop_completely
from spark_rtm.text import markdown
from tests.helpers import end_offset, eventually, new_topic, produce, texts_of
from tests.pages.refusals import failure
from tests.pages.running import PageEnvironment, fresh_session

pytestmark = [pytest.mark.spark, pytest.mark.services]

PAGE = (files.ROOT / "references/errors_kafka.md").read_text(encoding="utf-8")
NO_BROKER = "localhost:1"
# The words of the table for the moments that `failure` returns.
MOMENTS = {"start": "at `start()`", "later": "after `start()`"}
COUNT = ("cast(count as string) as value",)
Row = tuple[str, ...]


def rows_of_the_page() -> list[Row]:
    (table,) = (table for table in markdown.tables(PAGE) if table.header[0] == "value or option")
    return [tuple(_without_code_marks(cell) for cell in cells[:4]) for _, cells in table.rows]


def _without_code_marks(cell: str) -> str:
    return cell.strip("`") if cell.startswith("`") else cell


def start(
    session: SparkSession,
    kafka: str,
    source: Mapping[str, str],
    sink: Mapping[str, str],
    columns: tuple[str, ...] = ("value",),
    trigger: Mapping[str, object] | None = None,
) -> StreamingQuery:
    reader = session.readStream.format("kafka").options(**{"kafka.bootstrap.servers": kafka, "subscribe": "clicks"})
    rows = reader.options(**source).load()
    rows = rows.groupBy("key").count() if columns == COUNT else rows
    writer = rows.selectExpr(*columns).writeStream.format("kafka").outputMode("update")
    writer = writer.options(**{"kafka.bootstrap.servers": kafka, "kafka.max.block.ms": "3000", **sink})
    query: StreamingQuery = writer.trigger(**(trigger or {"realTime": "5 minutes"})).start()  # type: ignore[call-overload]
    return query


@pytest.mark.proves("conditions provoked")
@pytest.mark.parametrize("row", rows_of_the_page(), ids=lambda row: row[0])
def test_rejected_option_fails_as_the_row_states(row: Row, environment: PageEnvironment) -> None:
    given, set_on, when, message = row
    given, _, sink_option = given.partition("`, `")
    target = {"topic": "copy", "checkpointLocation": str(environment.folder / "checkpoints" / str(time.monotonic_ns()))}
    if " as topic" in given:
        # The broker refuses the name immediately; on a busy machine, its answer can take longer than three seconds.
        del target["topic"]
        target["kafka.max.block.ms"] = "60000"
    columns: tuple[str, ...] = ("value",)
    if set_on == "rows":
        columns = (given,) if given.endswith((" as value", " as key")) else ("value", given)
    else:
        sink_option = given
    if sink_option:
        target |= dict([sink_option.split("=", 1)])

    moment, error = failure(lambda session: [start(session, environment.kafka, {}, target, columns)], environment)

    assert when == MOMENTS[moment]
    assert message in str(error)


def test_second_failure_names_only_the_invalid_topic(environment: PageEnvironment) -> None:
    # With one partition, only one task writes; two tasks could meet both messages in one query. The sink checks for a
    # failed write before the next row.
    topic = new_topic(environment.kafka, 1)
    produce(environment.kafka, topic, [(0, b"a"), (0, b"b")])
    source = {"subscribe": topic, "startingOffsets": "earliest"}
    producer = {"kafka.client.id": topic, "kafka.max.block.ms": "60000"}

    def message(number: int) -> str:
        sink = {**producer, "checkpointLocation": f"{environment.folder}/{topic}-{number}"}
        columns = ("value", "'bad name!' as topic")
        _, error = failure(lambda session: [start(session, environment.kafka, source, sink, columns)], environment, ())
        return str(error)

    first, second = message(1), message(2)

    assert "InvalidTopicException: Invalid topics: [bad name!]" in first
    assert "InvalidTopicException: bad name!" in second


def test_unreachable_source_fails_after_three_timeouts(environment: PageEnvironment) -> None:
    short_timeouts = {"kafka.request.timeout.ms": "2000", "kafka.default.api.timeout.ms": "4000"}
    cases = [{"kafka.bootstrap.servers": NO_BROKER}, {"kafka.security.protocol": "SSL"}]
    with fresh_session(environment.spark) as session:
        began = time.monotonic()
        queries = [
            start(
                session,
                environment.kafka,
                {**short_timeouts, **case},
                {"topic": "copy", "checkpointLocation": f"{environment.folder}/t{n}"},
            )
            for n, case in enumerate(cases)
        ]

        eventually(lambda: all(query.exception() for query in queries), 60, "the end of both queries")

        assert 3 * 4 <= time.monotonic() - began < 30
        assert [None, None] == [query.lastProgress for query in queries]
        assert all("TimeoutException: Timed out waiting for a node" in str(query.exception()) for query in queries)


def test_pattern_without_topic_commits_empty_batches(environment: PageEnvironment) -> None:
    with fresh_session(environment.spark) as session:
        reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", environment.kafka)
        rows = reader.option("subscribePattern", "nothing-.*").load()
        query = rows.writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()  # type: ignore[call-overload]

        eventually(lambda: query.exception() or len(query.recentProgress) >= 5, 60, "five batches")

        assert query.isActive
        assert {0} == {progress.numInputRows for progress in query.recentProgress}


def test_query_with_source_topic_column_reads_its_own_output(environment: PageEnvironment) -> None:
    """A sink without the option `topic` writes to the topic in the column `topic`, here the source."""
    topic, options = new_topic(environment.kafka, 1), {"checkpointLocation": f"{environment.folder}/loop"}
    produce(environment.kafka, topic, [(0, b"value")])
    with fresh_session(environment.spark) as session:
        reads = {"subscribe": topic, "startingOffsets": "earliest"}

        query = start(session, environment.kafka, reads, options, ("key", "value", "topic"))

        eventually(
            lambda: query.exception() or end_offset(environment.kafka, topic) > 20, 60, "twenty rows from one record"
        )
        assert query.exception() is None


def test_query_with_deleted_records_continues_after_micro_batch(environment: PageEnvironment) -> None:
    """
    Real-time mode fails with either value of the option; a micro-batch run on the same checkpoint skips the gap.

    The count of 10 comes from a batch that was not committed. Three of its records are then deleted.
    """
    source, target = new_topic(environment.kafka, 1), new_topic(environment.kafka, 1)
    reads = {"subscribe": source, "startingOffsets": "earliest"}
    writes = {"topic": target, "checkpointLocation": f"{environment.folder}/{target}"}
    five_records = [(0, b"value")] * 5

    def run(session: SparkSession, loss: str = "true", **trigger: object) -> StreamingQuery:
        return start(session, environment.kafka, reads | {"failOnDataLoss": loss}, writes, COUNT, trigger)

    with fresh_session(environment.spark) as session:
        produce(environment.kafka, source, five_records)
        first = run(session, realTime="5 seconds")
        eventually(lambda: first.exception() or first.lastProgress, 60, "a commit")
        stop_completely(session, first)
        produce(environment.kafka, source, five_records)
        second = run(session)
        eventually(lambda: second.exception() or end_offset(environment.kafka, target) == 10, 60, "five more results")
        stop_completely(session, second)
        admin = AdminClient({"bootstrap.servers": environment.kafka})
        for deleted in admin.delete_records([TopicPartition(source, 0, 8)]).values():
            deleted.result(30)

        for loss in ("true", "false"):
            error = eventually(run(session, loss).exception, 60, "the end of the query")
            assert error is not None
            assert "OffsetOutOfRangeException" in str(error)
            decision = judge(failure_of("copy", error, 0), [])
            assert (None, "unread records are missing in Kafka") == (decision.pause_seconds, decision.reason)

        run(session, "false", availableNow=True).awaitTermination(60)
        resumed = run(session)
        produce(environment.kafka, source, five_records[:1])
        eventually(
            lambda: resumed.exception() or end_offset(environment.kafka, target) == 10 + 1 + 1, 60, "the other records"
        )
        assert resumed.exception() is None
    assert [*map(str, range(1, 11)), "7", "8"] == texts_of(environment.kafka, target)
