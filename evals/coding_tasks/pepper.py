"""Users are hashed with a secret that is not in the plan, the progress or the checkpoint."""

import hashlib
import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from evals.stage import Answer, fields, new_topics, produce, require, require_same, trial, written_by, wrong
from spark_rtm.prove.engine import Bench
from spark_rtm.realtime.proof import plan_of_query
from spark_rtm.testing.records import Sent
from spark_rtm.testing.trial import Trial, read_table

PEPPER = "p3pp3r-of-the-test"
USERS = ("u1", "u2", "u3")
INTERVAL_MS = 1_000


def verify(bench: Bench, answer: Answer) -> None:
    """Put the secret into a topic, compare the hashes, and search Spark's output and files."""
    [topic] = new_topics(bench.kafka, 1, 1)
    produce(bench.kafka, topic, [Sent(PEPPER.encode(), b"pepper")])

    def with_secrets(records: DataFrame) -> DataFrame:
        rows: DataFrame = answer(records, read_table(records.sparkSession, bench.kafka, topic))
        return rows

    with trial(bench, with_secrets, "logins") as run:
        query = run.start("query", INTERVAL_MS)
        written = written_by(run, query, [Sent(json.dumps({"user": user}).encode()) for user in USERS])
        places = _places(run, query)
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


def users(records: DataFrame) -> DataFrame:
    """Return the columns `key` and `user`."""
    return records.select("key", F.get_json_object(F.col("value").cast("string"), "$.user").alias("user"))


def rows(logins: DataFrame, pepper: Column) -> DataFrame:
    """Return Kafka sink rows from the columns `key` and `user`."""
    return logins.select("key", F.to_json(F.struct(F.sha2(F.concat(pepper, "user"), 256).alias("user"))).alias("value"))


def pepper_of(secrets: DataFrame) -> DataFrame:
    """Return the secret as one row with one column `pepper`."""
    peppers = secrets.where(F.col("key") == F.lit("pepper").cast("binary"))
    return peppers.agg(F.max_by("value", "offset").cast("string").alias("pepper"))


def right(records: DataFrame, secrets: DataFrame) -> DataFrame:
    """Read the secret with a scalar subquery, whose value is not in the plan."""
    return rows(users(records), pepper_of(secrets).scalar())


@wrong(r"the secret is in the plan")
def literal(records: DataFrame, secrets: DataFrame) -> DataFrame:
    """Collect the secret and put it into the expression."""
    [row] = pepper_of(secrets).collect()
    return rows(users(records), F.lit(row.pepper))


@wrong(r"3 missing hashes")
def no_pepper(records: DataFrame, _secrets: DataFrame) -> DataFrame:
    """Hash the user without the secret."""
    return rows(users(records), F.lit(""))
