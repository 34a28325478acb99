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
from tests.helpers import end_offset, eventually, kafka_rows, produce, start_to_kafka, texts_of
from tests.pages.jobs import ModeJob
from tests.pages.running import PageEnvironment, failure, fresh_session

pytestmark = [pytest.mark.spark, pytest.mark.services]

PAGE = (files.ROOT / "references/errors_kafka.md").read_text(encoding="utf-8")
NO_BROKER = "localhost:1"
# The words of the table for the moments that `failure` returns.
MOMENTS = {"start": "at `start()`", "later": "after `start()`"}
Row = tuple[str, ...]


def rows_of_the_page() -> list[Row]:
    (table,) = (table for table in markdown.tables(PAGE) if table.header[0] == "value or option")
    return [tuple(cell.strip("`") if cell.startswith("`") else cell for cell in cells[:4]) for _, cells in table.rows]


def start(
    session: SparkSession,
    environment: PageEnvironment,
    source: Mapping[str, str],
    sink: Mapping[str, str],
    columns: tuple[str, ...] = ("value",),
) -> StreamingQuery:
    rows = kafka_rows(session, environment.kafka, "clicks", **{"startingOffsets": "", **source}).selectExpr(*columns)
    checkpoint = environment.folder / "checkpoints" / str(time.monotonic_ns())
    return start_to_kafka(rows, environment.kafka, checkpoint, "5 minutes", **{"kafka.max.block.ms": "3000", **sink})


@pytest.mark.proves("conditions provoked")
@pytest.mark.parametrize("row", rows_of_the_page(), ids=lambda row: row[0])
def test_rejected_option_fails_as_the_row_states(row: Row, environment: PageEnvironment) -> None:
    given, set_on, when, message = row
    given, _, sink_option = given.partition("`, `")
    target = {"topic": "copy"}
    if " as topic" in given:
        # The broker refuses the name immediately; on a busy machine, its answer can take longer than three seconds.
        target = {"kafka.max.block.ms": "60000"}
    columns: tuple[str, ...] = ("value",)
    if set_on == "rows":
        columns = (given,) if given.endswith((" as value", " as key")) else ("value", given)
    else:
        sink_option = given
    if sink_option:
        target |= dict([sink_option.split("=", 1)])

    moment, error = failure(lambda session: [start(session, environment, {}, target, columns)], environment)

    assert when == MOMENTS[moment]
    assert message in str(error)


def test_unreachable_source_fails_after_three_timeouts(environment: PageEnvironment) -> None:
    short_timeouts = {"kafka.request.timeout.ms": "1000", "kafka.default.api.timeout.ms": "2000"}
    cases = [{"kafka.bootstrap.servers": NO_BROKER}, {"kafka.security.protocol": "SSL"}]
    with fresh_session(environment.spark) as session:
        began = time.monotonic()
        queries = [start(session, environment, short_timeouts | case, {"topic": "copy"}) for case in cases]

        eventually(lambda: all(query.exception() for query in queries), 60, "the end of both queries")

        assert 3 * 2 <= time.monotonic() - began < 30
        assert [None, None] == [query.lastProgress for query in queries]
        assert all("TimeoutException: Timed out waiting for a node" in str(query.exception()) for query in queries)


@pytest.mark.side_by_side
def test_pattern_without_topic_commits_empty_batches(job: ModeJob) -> None:
    query = job.copy(job.rows(subscribe="", subscribePattern="nothing-.*").select("value"), "5 minutes")

    eventually(lambda: query.exception() or len(query.recentProgress) >= 5, 60, "five batches")

    assert query.isActive
    query.stop()  # Otherwise, it plans empty batches without a pause until the other tests end.
    assert {0} == {progress.numInputRows for progress in query.recentProgress}


@pytest.mark.side_by_side
def test_query_with_source_topic_column_reads_its_own_output(job: ModeJob) -> None:
    """A sink without the `topic` option writes to the topic in the `topic` column, here the source."""
    produce(job.kafka, job.source, [(0, b"value")])

    query = start_to_kafka(job.rows().select("key", "value", "topic"), job.kafka, job.checkpoint, "5 minutes")

    eventually(lambda: query.exception() or end_offset(job.kafka, job.source) > 20, 60, "twenty rows from one record")
    assert query.exception() is None
    query.stop()


@pytest.mark.side_by_side
def test_query_with_deleted_records_continues_after_micro_batch(job: ModeJob) -> None:
    """
    Real-time mode fails with either value of the option; a micro-batch run on the same checkpoint skips the gap.

    The count of 10 comes from a batch that was not committed. Three of its records are then deleted.
    """
    five_records = [(0, b"value")] * 5

    def run(loss: str = "true", interval: str | bool = "5 minutes", trigger: str = "realTime") -> StreamingQuery:
        counts = job.rows(failOnDataLoss=loss).groupBy("key").count().selectExpr("cast(count as string) as value")
        return start_to_kafka(counts, job.kafka, job.checkpoint, interval, trigger, topic=job.target)

    def wait_for(query: StreamingQuery, results: int) -> None:
        eventually(lambda: query.exception() or end_offset(job.kafka, job.target) == results, 60, f"{results} results")

    produce(job.kafka, job.source, five_records)
    first = run(interval="2 seconds")
    eventually(lambda: first.exception() or first.lastProgress, 60, "a commit")
    stop_completely(job.spark, first)
    produce(job.kafka, job.source, five_records)
    second = run()
    wait_for(second, 10)
    stop_completely(job.spark, second)
    admin = AdminClient({"bootstrap.servers": job.kafka})
    for deleted in admin.delete_records([TopicPartition(job.source, 0, 8)]).values():
        deleted.result(30)

    for loss in ("true", "false"):
        error = eventually(run(loss).exception, 60, "the end of the query")
        assert error is not None
        assert "OffsetOutOfRangeException" in str(error)
        decision = judge(failure_of("copy", error, 0), [])
        assert (None, "unread records are missing in Kafka") == (decision.pause_seconds, decision.reason)

    run("false", True, "availableNow").awaitTermination(60)
    resumed = run()
    produce(job.kafka, job.source, five_records[:1])
    wait_for(resumed, 10 + 1 + 1)
    assert resumed.exception() is None
    assert [*map(str, range(1, 11)), "7", "8"] == texts_of(job.kafka, job.target)
