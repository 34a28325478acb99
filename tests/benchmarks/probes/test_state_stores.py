import uuid

import psycopg
import pytest
from confluent_kafka import Producer

from benchmarks.probes import state_table
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.services import LocalPostgres, running

pytestmark = [pytest.mark.services, pytest.mark.timeout(60)]


def test_offsets_in_the_table_count_each_record_once(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restarted consumer counts only the new records, because one statement stores counts and offsets."""
    monkeypatch.setattr(state_table, "IDLE_SECONDS", 1)
    topic = f"test-counted-{uuid.uuid4().hex[:8]}"
    ensure_topics(kafka, [topic], 1)
    producer = Producer({"bootstrap.servers": kafka})
    with running(LocalPostgres()) as server, psycopg.connect(server.dsn, autocommit=True) as table:
        table.execute(state_table.TABLES)
        found: list[dict[str, int]] = []
        for keys in ("a", "b"), ("a",), ():
            for number, key in enumerate(keys):
                producer.produce(topic, str(number), key)
            producer.flush(30)
            state_table.count_in_table(kafka, topic, server.dsn, state_table.GUARDED)
            found.append(dict(table.execute("select key, n from counts").fetchall()))

    assert [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 2, "b": 1}] == found
