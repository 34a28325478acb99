"""Users are hashed with a secret that is not in the plan, the progress or the checkpoint."""

import hashlib
import json
import uuid

from confluent_kafka import Producer
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from evals.stage import DEADLINE_SECONDS, Answer, delete_topics, fields, require, require_same, trial, written_by
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.realtime.proof import plan_of_query
from spark_rtm.testing.records import Sent
from spark_rtm.testing.trial import Trial, read_table

PEPPER = "p3pp3r-of-the-test"
USERS = ("u1", "u2", "u3")
INTERVAL_MS = 1_000


def verify(bench: Bench, answer: Answer) -> None:
    """Put the secret into a topic, compare the hashes, and search Spark's output and files."""
    topic = f"eval-{uuid.uuid4().hex[:8]}-secrets"
    ensure_topics(bench.kafka, [topic], 1)
    producer = Producer({"bootstrap.servers": bench.kafka, "linger.ms": 0})
    producer.produce(topic, PEPPER.encode(), b"pepper")
    producer.flush(DEADLINE_SECONDS)

    def with_secrets(records: DataFrame) -> DataFrame:
        rows: DataFrame = answer(records, read_table(records.sparkSession, bench.kafka, topic))
        return rows

    try:
        with trial(bench, with_secrets, "logins") as run:
            query = run.start("query", INTERVAL_MS)
            written = written_by(run, query, [Sent(json.dumps({"user": user}).encode()) for user in USERS])
            places = _places(run, query)
    finally:
        producer.close()
        delete_topics(bench.kafka, topic)
    require(not places, f"the secret is in {' and in '.join(places)}")
    hashes = [hashlib.sha256((PEPPER + user).encode()).hexdigest() for user in USERS]
    require_same(hashes, [fields(record).get("user") for record in written], "hashes")


def _places(run: Trial, query: StreamingQuery) -> list[str]:
    """Stop the query, and return the names of the places that contain the secret."""
    plans = plan_of_query(query) + str(run.rows._jdf.queryExecution().toString())  # noqa: SLF001 - not public
    progress = "".join(event.json for event in query.recentProgress)
    # A running query removes files.
    run.stop(query)
    stored = b"".join(path.read_bytes() for path in run.folder.rglob("*") if path.is_file())
    found = {"the plan": plans, "the progress": progress, "the checkpoint": stored.decode("latin-1")}
    return [place for place, text in found.items() if PEPPER in text]
