"""Commands that reach the queries of another process through its socket."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_rtm.commands.control import listen
from spark_rtm.realtime.control import SOURCE
from spark_rtm.realtime.queries import KAFKA_SINK, wait_until
from tests.helpers import end_offset, kafka_rows, new_topic, produce, start_to_kafka

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]
INTERVAL = "5 minutes"
SLOW = "if(reflect('java.lang.Thread', 'sleep', offset - offset + {}) is null, value, value) as value"


def rtm(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spark_rtm", *arguments]
    return subprocess.run(command, check=False, timeout=90, capture_output=True, text=True)


def start(rows: DataFrame, kafka: str, target: str, checkpoint: Path) -> None:
    start_to_kafka(rows, kafka, checkpoint, INTERVAL, topic=target, **KAFKA_SINK)


def written(kafka: str, topic: str) -> int:
    return end_offset(kafka, topic) + end_offset(kafka, topic, 1)


def test_socket_is_private_and_executes_the_commands_of_rtm(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """`rtm commit`, `rtm drain` and `rtm stop` reach a running job through a socket that only its user can open."""
    source, target, path = new_topic(kafka, 1), new_topic(kafka, 2), tmp_path / "rtm.sock"
    start(kafka_rows(spark, kafka, source, SOURCE), kafka, target, tmp_path / "copy")
    produce(kafka, source, [(0, b"row")])

    with listen(spark, path):
        assert 0o600 == stat.S_IMODE(path.stat().st_mode)
        with pytest.raises(OSError, match="in use"), listen(spark, path):
            pass
        done = [rtm(*words) for words in ((each, str(path)) for each in ("commit", "drain", "stop"))]
        assert [] == spark.streams.active
        other = rtm("stop", str(path), "--query", "other")

    assert [(0, "copy: batch 0 is committed\n"), (0, "copy: drain has ended\n"), (0, "copy: stop has ended\n")] == [
        (each.returncode, each.stdout) for each in done
    ]
    assert (1, "the query 'other' is not running in this job; running queries: none\n") == (
        other.returncode,
        other.stderr,
    )
    assert not path.exists()


def test_all_queries_share_the_deadline_and_each_has_an_answer(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Seven queries with slow rows need more time, and one query has a source without commands. All keep running."""
    source, target, path = new_topic(kafka, 1), new_topic(kafka, 2), tmp_path / "rtm.sock"
    produce(kafka, source, [(0, b"row")] * 200)
    names = [f"slow{number}" for number in range(7)]
    for name in names:
        rows = kafka_rows(spark, kafka, source, SOURCE).selectExpr(SLOW.format(2000))
        start(rows, kafka, target, tmp_path / name)
    start(kafka_rows(spark, kafka, new_topic(kafka, 1)), kafka, target, tmp_path / "plain")
    wait_until(lambda: written(kafka, target), 60, "a row", spark.streams.active)

    with listen(spark, path):
        done = rtm("drain", str(path), "--deadline", "4")

    told = dict(line.split(": ", 1) for line in done.stderr.splitlines())
    assert (1, "", {*names, "plain"}) == (done.returncode, done.stdout, set(told))
    assert "no source of query 'plain' supports commands" in told["plain"]
    assert {"query", "timed"} >= {told[name].split()[0] for name in names}, told
    assert {*names, "plain"} == {query.name for query in spark.streams.active}


def test_stop_tells_how_many_records_it_has_left(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    source, target, path = new_topic(kafka, 1), new_topic(kafka, 2), tmp_path / "rtm.sock"
    produce(kafka, source, [(0, b"row")] * 200)
    start(kafka_rows(spark, kafka, source, SOURCE).selectExpr(SLOW.format(300)), kafka, target, tmp_path / "slow")
    wait_until(lambda: written(kafka, target), 60, "a row", spark.streams.active)

    with listen(spark, path):
        done = rtm("stop", str(path), "--deadline", "20")

    assert (0, "") == (done.returncode, done.stderr)
    left = 200 - written(kafka, target)
    assert f"slow: stop has ended; {left} records are unread, and a restart reads them\n" == done.stdout
