import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from scripts import skills
from spark_rtm.commands.resize import ResizeError, compared, resize
from spark_rtm.inspect.inspection import inspect
from spark_rtm.realtime import control
from spark_rtm.realtime.queries import wait_until
from tests.helpers import new_topic
from tests.inspect.files import add_state, write_checkpoint
from tests.realtime.test_control import COUNTS, outputs, processed, read, start, written

KEYS = 60
QUERIES: dict[str, tuple[Callable[[DataFrame], DataFrame], int, list[str]]] = {
    "aggregation": (lambda rows: rows.groupBy("key").count().selectExpr(COUNTS), 1, ["{key} 1", "{key} 2"]),
    "command": (processed, 3, ["{key} 1", "{key} 2"]),
}
"""A query with two state partitions, the new number of partitions, and the results per key."""


def send(kafka: str, topic: str, number: int) -> None:
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})
    for key in range(KEYS):
        producer.produce(topic, str(number), str(key))
    assert 0 == producer.flush(30)


@pytest.mark.services
@pytest.mark.timeout(200)
@pytest.mark.parametrize(("transform", "partitions", "expected"), QUERIES.values(), ids=QUERIES)
def test_restart_continues_with_the_state_of_all_keys(
    spark: SparkSession,
    kafka: str,
    tmp_path: Path,
    transform: Callable[[DataFrame], DataFrame],
    partitions: int,
    expected: list[str],
) -> None:
    source, target = new_topic(kafka, 2), new_topic(kafka, 2)
    old, new = tmp_path / "old", tmp_path / "new"
    query = start(transform(read(spark, kafka, source)), kafka, target, old)
    send(kafka, source, 0)
    wait_until(lambda: written(kafka, target) >= KEYS, 60, "results", [query])
    control.stop(query)

    if transform == processed:  # a processor with timers
        words = ["resize", str(old), "--partitions", str(partitions), "--to", str(new)]
        command = [sys.executable, "-m", "spark_rtm", *words]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        assert 0 == done.returncode, done.stderr
        assert re.search(rf"/new has the \d{{2,}} rows of state in {partitions} partitions, all unchanged", done.stdout)
    else:
        assert resize(spark, old, partitions, new) >= KEYS

    assert [partitions] == [operator.partitions for operator in inspect(str(new)).operators]
    assert not inspect(str(new)).has_problem
    before = inspect(str(old)).last_committed
    again = start(transform(read(spark, kafka, source)), kafka, target, new)
    send(kafka, source, 1)
    control.drain(again)
    progress = again.lastProgress
    assert progress
    (state,) = progress.stateOperators
    control.stop(again)
    assert partitions == state.numShufflePartitions
    assert sorted(one.format(key=key) for key in range(KEYS) for one in expected) == sorted(outputs(kafka, target))
    if transform == processed:  # the second record of each key has changed its state
        assert before is not None
        with pytest.raises(ResizeError, match="state/0 differs"):
            compared(spark.newSession(), new, 0, before)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["counted", "--partitions", "2", "--to", "new"], "counted already has 2 state partitions"),
        (["counted", "--partitions", "0", "--to", "new"], "--partitions 0 is too small"),
        (["counted", "--partitions", "3", "--to", "stateless"], "stateless exists; name a new folder with --to"),
        (["stateless", "--partitions", "3", "--to", "new"], "stateless has no committed state"),
        (["nothing", "--partitions", "3", "--to", "new"], "nothing is empty, so no query has started here"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_refusal_names_reason_and_writes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_checkpoint(Path("stateless"))
    add_state(write_checkpoint(Path("counted")))

    assert 2 == skills.main(["resize", *arguments])

    assert re.search(reason, capsys.readouterr().err)
    assert not Path("new").exists()
