"""A consumer that keeps the first record per `id` header gets each source record once, even after a restart."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from evals.stage import DEADLINE_SECONDS, Answer, require, require_same, trial, written_by, wrong
from spark_rtm.prove.engine import Bench
from spark_rtm.realtime.queries import wait_until
from spark_rtm.testing.records import Received, Sent

# Equal records are separate payments, for example by two passengers on one bus.
VALUES = [b'{"card":"c1","amount_cents":250}'] * 4 + [b'{"card":"c2","amount_cents":100}'] * 2
LONG_MS, SHORT_MS = 60_000, 1_000


def verify(bench: Bench, answer: Answer) -> None:
    """Stop the query during a batch, which commits nothing, restart it, and read both outputs."""
    sent = [Sent(value, b"k") for value in VALUES]
    with trial(bench, answer, "payments", partitions=2) as run:
        query = run.start("query", LONG_MS)
        run.send(sent)
        written = list[Received]()

        def has_written() -> bool:
            written.extend(run.received())
            return len(written) >= len({record.value for record in sent})

        wait_until(has_written, DEADLINE_SECONDS, "results during a batch", [query])
        run.stop(query)
        if query.lastProgress:
            raise RuntimeError("the batch ended before the query was stopped; run the evaluation again")
        written += run.received()
        written += written_by(run, run.start("query", SHORT_MS), [])
    first = dict[bytes | None, bytes | None]()
    for record in written:
        names = [value for name, value in record.headers if name == "id"]
        require(len(names) == 1, f"a record has {len(names)} headers `id` instead of one")
        first.setdefault(names[0], record.value)
    require_same(VALUES, first.values(), "records for the consumer")


def with_id(records: DataFrame, identity: Column) -> DataFrame:
    """Return Kafka sink rows with an `id` header."""
    header = F.struct(F.lit("id").alias("key"), identity.cast("binary").alias("value"))
    return records.select("key", "value", F.array(header).alias("headers"))


def right(records: DataFrame) -> DataFrame:
    """Derive the id from the source position, which a replay does not change."""
    return with_id(records, F.concat_ws(":", "topic", "partition", "offset"))


@wrong(r"6 surplus records for the consumer")
def random(records: DataFrame) -> DataFrame:
    """Generate a random id, which differs after a replay."""
    return with_id(records, F.expr("uuid()"))


@wrong(r"4 missing records for the consumer")
def digest(records: DataFrame) -> DataFrame:
    """Derive the id from the content, so equal payments get the same id."""
    return with_id(records, F.sha2("value", 256))
