from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from examples.migrate.__main__ import main, migrate
from examples.migrate.seeds import copy_state, unconfirmed
from examples.migrate.totals import Places, start_after
from spark_rtm.realtime.positions import NO_BATCH, Position
from spark_rtm.realtime.queries import QueryFailedError, wait_until
from spark_rtm.realtime.slots import slots_total
from tests.helpers import end_offset, new_topic, produce

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(300)]


@pytest.fixture
def places(kafka: str, tmp_path: Path) -> Places:
    return Places(kafka, new_topic(kafka, 2), new_topic(kafka, 1), new_topic(kafka, 1), "", tmp_path)


def test_job_moves_to_real_time_mode_and_back(
    spark: SparkSession, kafka: str, rtm_postgres: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At each step, the table of the running job equals all payments sent; the old job can catch up at the end."""
    migrate(spark, kafka, rtm_postgres, tmp_path, "1 second")

    assert 6 == len(capsys.readouterr().out.splitlines())


def test_program_without_a_database_ends_with_one_line(
    kafka: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program names the server on standard error and returns 1, without a traceback."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka)
    monkeypatch.setenv("POSTGRES_DSN", "postgresql://127.0.0.1:1/none")

    status = main([])

    printed = capsys.readouterr()
    assert 1 == status
    assert printed.err.startswith("error: ")
    assert "POSTGRES_DSN" in printed.err
    assert "starting a Kafka broker" in printed.out


def test_comparison_finds_totals_that_differ(places: Places) -> None:
    """A total is confirmed only if the real-time job wrote it with the same number and sum."""
    with Producer({"bootstrap.servers": places.bootstrap_servers, "linger.ms": 0}) as producer:
        for value in ('{"payments": 1, "total_cents": 5}', '{"payments": 2, "total_cents": 12}'):
            producer.produce(places.totals, value, "a")

    assert [] == unconfirmed(places, [("a", 1, 5), ("a", 2, 12)])
    others = [("a", 2, 11), ("a", 3, 12), ("b", 1, 1)]
    assert others == unconfirmed(places, [("a", 2, 12), *others])


def test_batch_job_takes_slots_of_real_time_query(spark: SparkSession, places: Places) -> None:
    """If a batch job holds all slots at a batch boundary, a stateful real-time query fails: use another cluster."""
    query = start_after(spark, places, "earliest", {"realTime": "1 second"}, slots=3)
    wait_until(lambda: query.lastProgress is not None, 60, "a batch", [query])
    # Each task holds its slot for two seconds without using a core.
    tasks, hold = 2 * slots_total(spark), F.expr("reflect('java.lang.Thread', 'sleep', id - id + 2000)")
    spark.range(0, tasks, 1, tasks).select(hold).collect()

    with pytest.raises(QueryFailedError, match="CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT"):
        wait_until(lambda: False, 60, "the failure of the query", [query])


def test_state_is_copied_to_empty_topic_only(spark: SparkSession, places: Places) -> None:
    """Without a committed batch, there is no state. A second copy would double all totals."""
    copy_state(spark, places, Position(NO_BATCH, ()))
    assert 0 == end_offset(places.bootstrap_servers, places.seeds)

    produce(places.bootstrap_servers, places.seeds, [(0, b"{}")])
    with pytest.raises(ValueError, match="already contains records"):
        copy_state(spark, places, Position(0, ()))
