"""Short real runs: what each engine answers, and what makes a run invalid."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from examples.benchmarks.harness.baseline import raw_echo
from examples.benchmarks.harness.engine import Engine, Run, assert_append_time, fresh_run
from examples.benchmarks.harness.java_program import SOURCES, compiled
from examples.benchmarks.harness.load_generator import Traffic, read_rows, sending
from examples.benchmarks.harness.plan import plain_console, run_plan, run_steps
from examples.benchmarks.harness.run import Cell, Trial, run_trial
from examples.benchmarks.harness.workloads import Work, record, transaction
from examples.benchmarks.latency import main
from examples.benchmarks.results.summary import summarise
from examples.benchmarks.spark.engine import spark_engine
from examples.benchmarks.spark.queries import Mode, SparkOptions, start_queries
from examples.benchmarks.spark.variants import spark_cell
from examples.benchmarks.throughput import find_limit
from examples.realtime.slots import wait_until
from examples.services import broker_jars, java_home
from examples.services.java import packaged_java_home
from tests.conftest import ROOT
from tests.helpers import end_offset, eventually, new_topic

pytestmark = pytest.mark.services

SHORT = Traffic(rate=2000, warm_up_seconds=0.5, measured_seconds=1, drain_seconds=60)
RECORDS = 2000
VALID = [seq for seq in range(3000) if seq % 101 != 100]


@contextmanager
def queries_here(spark: SparkSession, options: SparkOptions, run: Run) -> Iterator[Engine]:
    """Run the queries of an engine in the session of the tests, to save the start of a process for each mode."""
    queries = [query for copy in range(options.copies) for query in start_queries(spark, options, run, copy)]
    try:
        yield Engine(())
    finally:
        for query in queries:
            query.stop()


def half_echo(run: Run) -> contextlib.AbstractContextManager[Engine]:
    """Run an engine that reads one partition of two."""
    return raw_echo(replace(run, partitions=1))


def answered_all(trial: Trial) -> None:
    """Check that nothing is lost or wrong; how fast it was depends on the machine."""
    assert (0, 0) == (trial.numbers["missing"], trial.numbers["wrong"])
    assert all(trial.latency_us > 0)


def test_load_program_sends_the_records_of_the_replay_keyed_by_transaction(kafka: str, tmp_path: Path) -> None:
    """What goes in is known without asking the program that sends it."""
    with fresh_run(kafka, "stateless", 2, tmp_path) as run:
        traffic = Traffic(rate=5000, warm_up_seconds=0, measured_seconds=0.5, drain_seconds=0)
        with sending(run, traffic) as load:
            load.supervisor.wait(60)
            rows = read_rows(run, traffic, load)
        consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test"})
        consumer.assign([TopicPartition(run.source, partition, 0) for partition in range(2)])
        found = [message for _ in range(2500) for message in consumer.consume(1, 10)]
        consumer.close()

    expected = [(transaction(seq).encode(), record(seq).encode()) for seq in range(2500)]
    assert sorted(expected) == sorted((message.key(), message.value()) for message in found)
    appended = {json.loads(message.value() or b"")["seq"]: message.timestamp()[1] for message in found}
    assert [appended[seq] for seq in range(2500)] == rows.appended_ms.tolist()
    assert all(rows.sent_us >= rows.due_us)


@pytest.mark.parametrize("arrivals", ["constant", "poisson"])
def test_records_are_due_at_the_rate_that_was_asked_for(kafka: str, tmp_path: Path, arrivals: str) -> None:
    """Poisson arrivals have the same rate as constant ones, and spaces that vary as much as they are long."""
    with fresh_run(kafka, "stateless", 1, tmp_path) as run:
        traffic = Traffic(5000, 0, 1, arrivals, drain_seconds=0)  # type: ignore[arg-type]
        with sending(run, traffic) as load:
            load.supervisor.wait(60)
            spaces_us = read_rows(run, traffic, load).due_us[1:] - read_rows(run, traffic, load).due_us[:-1]

    assert 200 == pytest.approx(spaces_us.mean(), rel=0.05)
    assert (0 if arrivals == "constant" else 200) == pytest.approx(spaces_us.std(), rel=0.1, abs=1)


def test_echo_answers_every_record_once(kafka: str) -> None:
    """The floor does one for one what every engine has to do at least."""
    trial = run_trial(kafka, Cell("raw echo", "echo", raw_echo), SHORT)

    answered_all(trial)
    assert (RECORDS, 1.0) == (trial.numbers["records"], trial.numbers["outputs_per_record"])
    assert trial.numbers["engine_cores"] > 0


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["micro-batch", "async progress", "continuous", "real-time"])
def test_mode_routes_every_record(kafka: str, spark: SparkSession, mode: Mode) -> None:
    """All four modes do the stateless work one for one."""
    options = SparkOptions(mode, interval_seconds=2)

    trial = run_trial(kafka, Cell(mode, "stateless", partial(queries_here, spark, options)), SHORT)

    answered_all(trial)
    assert (RECORDS, 1.0) == (trial.numbers["records"], trial.numbers["outputs_per_record"])


@pytest.mark.spark
@pytest.mark.parametrize(
    ("mode", "copies", "outputs"),
    [
        ("micro-batch", 1, lambda number: number <= 1),
        ("real-time", 1, lambda number: number == 1),
        ("real-time", 2, lambda number: 1 < number <= 2),
    ],
    ids=["micro-batch", "real-time", "two copies"],
)
def test_mode_answers_each_record_with_the_state_of_its_transaction(
    kafka: str, spark: SparkSession, mode: Mode, copies: int, outputs: Callable[[float], bool]
) -> None:
    """Micro-batch may merge the answers to several records, two copies give most answers twice, none is wrong."""
    options = SparkOptions(mode, interval_seconds=2, copies=copies)

    trial = run_trial(kafka, Cell(mode, "stateful", partial(queries_here, spark, options)), SHORT)

    answered_all(trial)
    assert sum(seq >= 1000 for seq in VALID) == trial.numbers["records"]
    assert outputs(trial.numbers["outputs_per_record"])


@pytest.mark.spark
def test_two_hops_answer_each_record_and_route_invalid_ones(kafka: str, spark: SparkSession) -> None:
    """A pipeline of two queries in one session loses nothing in between."""
    options = SparkOptions("real-time", interval_seconds=2)

    trial = run_trial(kafka, Cell("real-time", "two hops", partial(queries_here, spark, options)), SHORT)

    answered_all(trial)
    assert (RECORDS, 1.0) == (trial.numbers["records"], trial.numbers["outputs_per_record"])


@pytest.mark.spark
def test_engine_in_its_own_process_reports_its_batches_and_its_processor_time(kafka: str) -> None:
    """The boundaries of real-time mode are found in what the process writes down."""
    options = SparkOptions("real-time", interval_seconds=1, slots=4, warm_up_batches=3)
    cell = spark_cell("real-time", "stateless", options)

    trial = run_trial(kafka, cell, Traffic(500, warm_up_seconds=2, measured_seconds=4, drain_seconds=60))

    answered_all(trial)
    assert trial.numbers["boundaries"] >= 1
    assert len(trial.numbers["gaps_ms"]) == trial.numbers["boundaries"]
    assert {"addBatch", "walCommit", "triggerExecution"} <= trial.numbers["phases_ms"].keys()
    assert trial.numbers["engine_cores"] > 0
    assert trial.numbers["engine_mb"] > 100


@pytest.mark.spark
def test_second_copy_starts_between_two_boundaries_of_the_first(kafka: str) -> None:
    """Copies that were started together would wait for the same boundaries together."""
    # A cold process drifts by seconds in each batch, and its boundaries end up anywhere.
    options = SparkOptions("real-time", interval_seconds=8, copies=2, warm_up_batches=20)
    cell = spark_cell("real-time, two copies", "stateful", options)

    trial = run_trial(kafka, cell, Traffic(200, warm_up_seconds=12, measured_seconds=20, drain_seconds=60))

    answered_all(trial)
    due_at = {name: [one.due_at for one in trial.boundaries if one.query == name] for name in ("copy_0", "copy_1")}
    nearest = min(abs(one - other) for one in due_at["copy_0"] for other in due_at["copy_1"])
    assert nearest > 0.5


@pytest.mark.spark
def test_one_copy_answers_everything_after_the_other_was_killed(kafka: str) -> None:
    """Each copy is a process of its own, so kill -9 of one costs no result."""
    started: list[tuple[Run, Engine]] = []

    @contextmanager
    def losing_a_copy(run: Run) -> Iterator[Engine]:
        with spark_engine(SparkOptions("real-time", interval_seconds=4, copies=2))(run) as engine:
            started.append((run, engine))
            yield replace(engine, children=engine.children[1:])

    def kill_first() -> None:
        ((run, engine),) = started
        if sum(end_offset(kafka, run.target, partition) for partition in range(run.partitions)) > 1000:
            engine.children[0].kill()

    traffic = Traffic(200, warm_up_seconds=5, measured_seconds=10, drain_seconds=60)
    trial = run_trial(kafka, Cell("real-time, two copies", "stateful", losing_a_copy), traffic, tick=kill_first)

    answered_all(trial)
    assert 1 < trial.numbers["outputs_per_record"] < 2
    assert [False] == [engine.children[0].is_running() for _, engine in started]


@pytest.mark.spark
def test_engine_that_fails_is_reported_with_its_own_words(kafka: str) -> None:
    """A run whose engine cannot start measures nothing and says why."""
    cell = spark_cell("real-time", "stateless", SparkOptions("real-time", slots=1))

    with pytest.raises(RuntimeError, match="the queries need 2 task slots"):
        run_trial(kafka, cell, SHORT)


def test_late_load_program_makes_the_run_invalid(kafka: str) -> None:
    """A rate that nobody can keep is told, and not reported as the latency of an engine."""
    hurried = Traffic(rate=10_000_000, warm_up_seconds=0, measured_seconds=0.01)

    trial = run_trial(kafka, Cell("raw echo", "echo", raw_echo), hurried)

    answered_all(trial)
    assert "of its rate; choose a lower --rate" in trial.problems[0]
    assert "records were sent late" in trial.problems[1]


def test_late_run_is_done_again_and_does_not_count_if_it_stays_late(kafka: str) -> None:
    """A slow moment of the machine must not cost a benchmark of an hour, nor may it become a result."""

    def pause_sender(run: Run) -> None:
        places = range(run.partitions)
        wait_until(lambda: sum(end_offset(kafka, run.source, place) for place in places) > 1000, 60, "some records")
        children = psutil.Process().children(recursive=True)
        (sender,) = [child for child in children if child.name() == "java" and "Load" in child.cmdline()]
        sender.suspend()
        threading.Event().wait(0.4)
        sender.resume()

    @contextmanager
    def beside_a_late_sender(run: Run) -> Iterator[Engine]:
        with raw_echo(run) as engine, ThreadPoolExecutor() as threads:
            pausing = threads.submit(pause_sender, run)
            yield engine
            pausing.result()

    step = Cell("raw echo", "echo", beside_a_late_sender), Traffic(500, 1, 5)

    (trial,) = run_steps(kafka, [step], 2, plain_console())

    answered_all(trial)
    assert [True, True] == [numbers["lag_p99_ms"] > 5 for numbers in trial.late]
    assert trial.is_late()
    assert len(summarise([trial])["late"]) == len(trial.late)


def test_engine_that_loses_records_keeps_up_no_rate(kafka: str) -> None:
    """Each step tells why it was not kept up."""
    cell, traffic = Cell("half echo", "echo", half_echo), Traffic(0, 0.5, 2, drain_seconds=2)

    highest, steps = find_limit(kafka, cell, [100, 200], traffic, 2, plain_console())

    assert 0 == highest
    assert [(100, False), (50, False)] == [(step["rate"], step["sustained"]) for step in steps]
    assert all(step["missing"] for step in steps)


def test_missing_result_makes_the_run_invalid(kafka: str) -> None:
    """An engine that reads one partition of two loses the records of the other."""
    trial = run_trial(kafka, Cell("half echo", "echo", half_echo), replace(SHORT, drain_seconds=2))

    assert 0 < trial.numbers["missing"] < 3000
    assert f"{trial.numbers['missing']} records have no answer" in trial.problems


@pytest.mark.parametrize(("work", "wrong"), [("stateless", 3000 - len(VALID)), ("stateful", 3000)])
def test_wrong_result_makes_the_run_invalid(kafka: str, work: Work, wrong: int) -> None:
    """An engine that only copies does not route invalid records, and does not know the state of a transaction."""
    trial = run_trial(kafka, Cell("raw echo", work, raw_echo), replace(SHORT, drain_seconds=2))

    assert wrong == trial.numbers["wrong"]
    assert any(f"{wrong} answers differ from the replay, such as bench-" in problem for problem in trial.problems)


def test_topic_with_the_clock_of_its_senders_is_refused(kafka: str) -> None:
    """Latencies of such a topic would leave out the way to the broker."""
    admin, topic = AdminClient({"bootstrap.servers": kafka}), f"{new_topic(kafka, 1)}-create-time"
    admin.create_topics([NewTopic(topic, 1, config={"message.timestamp.type": "CreateTime"})])[topic].result(30)
    eventually(lambda: end_offset(kafka, topic) == 0, 30, "the topic's metadata")

    with pytest.raises(ValueError, match=f"topic '{topic}' has message.timestamp.type=CreateTime"):
        assert_append_time(admin, [topic])


def test_java_without_a_compiler_is_refused_with_the_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runtime is enough for Spark and Kafka, but not for the load program."""
    monkeypatch.setenv("JAVA_HOME", str(packaged_java_home()))
    jars = broker_jars()
    monkeypatch.setenv("RTM_CACHE", str(tmp_path))

    with pytest.raises(RuntimeError, match=f"the Java in {java_home()} has no compiler"):
        compiled(SOURCES / "Echo.java", jars)


def test_command_writes_json_and_charts_and_says_whether_they_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is that of the runs, and numbers that do not count are never kept."""
    lengths = ["--warm-up-seconds", "1", "--measured-seconds", "2"]
    with contextlib.chdir(tmp_path):
        status = main(["--quick", "--only", "raw echo", *lengths, "--arrivals", "constant", "poisson", "--keep"])

    folder = tmp_path / ("build/latency" if status else "references/measured")
    assert {"latency.json", "latency.svg", "latency.png"} == {path.name for path in folder.iterdir()}
    content = json.loads((folder / "latency.json").read_text())
    assert [("constant", 1), ("poisson", 1)] == [(cell["arrivals"], cell["runs"]) for cell in content["cells"]]
    assert bool(status) == any(run["problems"] for run in content["runs"])
    shown = capsys.readouterr().out
    assert "1/2 echo, raw echo, 1000/s constant; about" in shown
    assert f"{content['cells'][0]['p50_ms']:,.1f}" in shown


@pytest.mark.usefixtures("kafka")
def test_plan_without_runs_gives_none() -> None:
    """Where `--only` lets nothing through, there is no traffic to warm the broker up with either."""
    assert [] == run_plan([], 2, plain_console())


def test_interrupted_command_ends_its_servers_and_writes_nothing(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a run leaves neither processes nor half a result."""
    command = [sys.executable, "-m", "examples.benchmarks.latency", "--only", "raw echo"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as bench:
        eventually(lambda: list(tmp_path.glob("bench-*/load.log")), 60, "the load program")
        bench.send_signal(signal.SIGINT)
        told = bench.communicate(timeout=60)[1]

    assert 130 == bench.returncode
    assert "interrupted, so nothing is written" in told
    assert [] == [path.name for path in tmp_path.iterdir() if not path.name.startswith("hsperfdata")]
