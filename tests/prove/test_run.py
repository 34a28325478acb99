import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from scripts.pack import files
from spark_rtm.prove.engine import in_time
from spark_rtm.prove.job.recorders import Recording
from spark_rtm.prove.job.runner import record
from spark_rtm.prove.job.target import load
from spark_rtm.prove.query import query_of_job, with_results
from spark_rtm.prove.records.samples import read_samples
from spark_rtm.prove.verdicts import CHECKS, GOOD, WRONG
from tests.prove.judge import Judge

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

ROUTED = """\
from pyspark.sql import functions as F


def routed(orders):
    order = F.from_json(F.col("value").cast("string"), "id string, n long").alias("o")
    is_good = F.coalesce(F.col("o.n") > 5, F.lit(False))
    value = F.when(is_good, F.to_json("o")).otherwise(F.col("value").cast("string"))
    topic = F.when(is_good, "good").otherwise("bad").alias("topic")
    return orders.select("value", order).select(value.alias("value"), topic)
"""
UPPER = """\
from pyspark.sql import functions as F


def upper(rows):
    return rows.select("key", F.upper(F.col("value").cast("string")).alias("value"))
"""


def test_job_of_the_repository_gets_only_good_verdicts(judge: Judge) -> None:
    # Other tests check flow and state, and the test of the command kills a query.
    checks = [check for check in CHECKS if check not in {"expect", "login", "flow", "state", "restart"}]
    path = files.ROOT / "examples/alerts/payments_to_flagged.py"

    verdicts = judge(load(f"{path}:payments_to_flagged"), *checks)

    assert [] == [verdict.text for verdict in verdicts if verdict.status != GOOD]
    assert checks == [verdict.check for verdict in verdicts]


def test_records_that_a_query_rejects_are_not_good_samples(judge: Judge) -> None:
    """Otherwise, its reject topic would count as its result topic, and broken records as good ones."""
    bench = judge.bench
    recording = Recording(bench.spark.newSession(), bench.kafka, judge.load(ROUTED, "routed"), 1)
    record(recording)

    with query_of_job(bench, recording, 0, {}) as made:
        found = [json.loads(sample.value or b"")["n"] for sample in with_results(made).samples.records]

    assert min(found) > 5


def test_output_of_the_samples_is_compared_with_the_file(judge: Judge, tmp_path: Path) -> None:
    """The order of the lines and the formatting of their JSON do not affect the comparison."""
    samples, expect = tmp_path / "samples.jsonl", tmp_path / "expect.jsonl"
    samples.write_text('"a"\n{"key": "k", "value": "\\"b\\""}\n')
    expect.write_text('{"key": "k", "value": "\\"B\\""}\n"C"\n')

    found = {"samples": {"rows": read_samples(samples)}, "expect": expect}
    verdict = judge.one(judge.load(UPPER, "upper"), "expect", **found)

    assert WRONG == verdict.status
    assert (
        '1 expected records are missing (first: "C"); 1 unexpected ones were written (first: "A")' in verdict.evidence
    )


def test_evaluation_that_takes_too_long_is_left_behind(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark cannot interrupt a regular expression, but `prove` continues."""
    monkeypatch.setattr("spark_rtm.prove.engine.CANCEL_SECONDS", 0.1)
    spaces = F.concat(F.repeat(F.lit(" "), 40_000), F.lit("!"))
    rows = spark.range(1).select(F.regexp_replace(spaces, r"\s+$", ""))

    with pytest.raises(TimeoutError, match="look for a slow expression"):
        in_time(rows, rows.collect, 0.2)
    assert [] == in_time(rows, rows.limit(0).collect, 60)
