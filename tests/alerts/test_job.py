"""The jobs as commands: help, refusals, and Ctrl-C."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.alerts import alarms_to_first, heartbeats_to_offline, logs_to_leaks, payments_to_flagged
from examples.alerts.job import Job, Options, start
from examples.realtime.slots import NotEnoughSlotsError, slots_total
from tests.alerts.helpers import command, create, encoded, interrupted, send

pytestmark = [pytest.mark.spark, pytest.mark.services]

JOBS = [alarms_to_first.JOB, heartbeats_to_offline.JOB, logs_to_leaks.JOB, payments_to_flagged.JOB]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_help_names_the_topics_and_the_only_thing_that_is_needed(job: Job) -> None:
    """Whoever reads the help can run the job."""
    with command(job, "--help") as process:
        printed, _ = process.communicate(timeout=60)

    assert 0 == process.returncode
    needed = (job.reads[0], job.writes[0], "KAFKA_BOOTSTRAP_SERVERS", "--interval-seconds")
    assert [] == [name for name in needed if name not in "".join(printed.split())]


def test_without_an_address_a_job_says_where_to_get_one() -> None:
    """Nothing starts, and the message names the variable and the remedy."""
    with command(JOBS[0]) as process:
        _, printed = process.communicate(timeout=60)

    assert 2 == process.returncode
    assert "KAFKA_BOOTSTRAP_SERVERS is not set" in printed
    assert "make services" in printed


@pytest.mark.timeout(240)
def test_ctrl_c_ends_a_job_with_status_zero_and_without_a_stack_trace(options: Options, tmp_path: Path) -> None:
    """A running job answers records until it is stopped, and says in one line what it does."""
    job = logs_to_leaks.JOB
    create(job, options)
    send(options, "logs", [(b"k", encoded({"service": "a", "message": "to a@b.nl"}))])
    arguments = ("--topic-prefix", options.topic_prefix, "--checkpoint-dir", str(tmp_path), "--slots", "2")

    found, status, printed, errors = interrupted(job, arguments, options, 2)

    assert ["leaks", "logs-masked"] == [output.topic for output in found]
    line = "logs_to_leaks runs in real-time mode: logs -> leaks, logs-masked, logs-rejected; Ctrl-C stops it"
    assert (0, [line], "") == (status, printed.splitlines(), errors.partition("Traceback")[1])


def test_too_few_slots_are_refused_before_the_start(spark: SparkSession, options: Options) -> None:
    """Partitions that would starve without an error never start to."""
    too_many = slots_total(spark) + 1

    with pytest.raises(NotEnoughSlotsError, match=f"logs_to_leaks {too_many}"):
        start(logs_to_leaks.JOB, spark, replace(options, partitions=too_many))


def test_an_absent_broker_is_named_before_the_start(spark: SparkSession) -> None:
    """Spark would wait without an error."""
    with pytest.raises(RuntimeError, match="no broker answers"):
        start(logs_to_leaks.JOB, spark, Options("127.0.0.1:1"))
