"""The jobs as commands: help, refused starts, and Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from examples.alerts import logs_to_leaks
from examples.alerts.__main__ import JOBS as JOBS_BY_NAME
from examples.alerts.__main__ import main
from examples.alerts.job import Options, start
from scripts.pack import files
from spark_rtm.realtime.slots import NotEnoughSlotsError, slots_needed, slots_total
from spark_rtm.text import markdown
from tests.alerts.helpers import START_SECONDS, create, encoded, outputs_of, send

pytestmark = [pytest.mark.spark, pytest.mark.services]

JOBS = list(JOBS_BY_NAME.values())
TABLE = markdown.tables((files.ROOT / "references/alerts.md").read_text(encoding="utf-8"))[0]


def test_help_names_topics_and_required_variable(capsys: pytest.CaptureFixture[str]) -> None:
    for job in JOBS:
        with pytest.raises(SystemExit, match=r"^0$"):
            main([job.name, "--help"])
        printed = "".join(capsys.readouterr().out.split())
        needed = (job.reads[0], job.writes[0], "KAFKA_BOOTSTRAP_SERVERS", "--interval-seconds")
        assert [] == [name for name in needed if name not in printed]


def test_page_states_topics_and_slots_of_each_job(spark: SparkSession, options: Options) -> None:
    for job in JOBS:
        create(job, options)
        needed = slots_needed(job.build(spark, options), options.partitions + job.streams - 1)
        [cells] = [cells for _, cells in TABLE.rows if f"`{job.name}`" in cells[0]]
        assert [list(job.reads), list(job.writes)] == [re.findall("`(.+?)`", cell) for cell in cells[1:3]]
        assert needed == sum(map(int, cells[3].split(" + ")))


def test_unknown_job_lists_the_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["logs-to-leaks"])
    assert "'logs-to-leaks' is not a job; use one of payments_to_flagged, logs_to_leaks" in capsys.readouterr().err
    assert 0 == main(["--help"])
    printed = capsys.readouterr().out
    assert [] == [job.name for job in JOBS if f"  {job.name} " not in printed]


def test_job_without_a_broker_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)

    with pytest.raises(SystemExit, match=r"^2$"):
        main([JOBS[0].name])

    printed = capsys.readouterr().err
    assert "KAFKA_BOOTSTRAP_SERVERS is not set" in printed
    assert "make services" in printed


@pytest.mark.timeout(240)
def test_ctrl_c_ends_job_with_status_zero(options: Options, tmp_path: Path) -> None:
    job = logs_to_leaks.JOB
    create(job, options)
    send(options, "logs", [(b"k", encoded({"service": "a", "message": "to a@b.nl"}))])
    words = [sys.executable, "-m", "examples.alerts", job.name, "--topic-prefix", options.topic_prefix]
    words += ["--checkpoint-dir", str(tmp_path), "--master", "local[2]"]
    environment = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": options.bootstrap_servers}
    with subprocess.Popen(
        words, cwd=files.ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            found = outputs_of(options, job, 2, START_SECONDS)
            process.send_signal(signal.SIGINT)
            printed, errors = process.communicate(timeout=60)
        finally:
            process.kill()

    assert ["leaks", "logs-masked"] == [output.topic for output in found]
    line = "logs_to_leaks runs in real-time mode: logs -> leaks, logs-masked, logs-rejected; press Ctrl-C to stop"
    assert (0, [line]) == (process.returncode, printed.splitlines())
    assert "Traceback" not in errors


def test_too_few_slots_are_refused_before_the_start(spark: SparkSession, options: Options) -> None:
    """The job creates its topics, but does not start a query whose partitions would starve without an error."""
    too_many = slots_total(spark) + 1

    with pytest.raises(NotEnoughSlotsError, match=f"logs_to_leaks {too_many}"):
        start(logs_to_leaks.JOB, spark, replace(options, partitions=too_many))
    topics = AdminClient({"bootstrap.servers": options.bootstrap_servers}).list_topics(timeout=10).topics
    assert too_many == len(topics[f"{options.topic_prefix}logs"].partitions)
