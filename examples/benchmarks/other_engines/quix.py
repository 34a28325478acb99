"""
Quix Streams as an engine of the benchmarks: a Python program on the client library that is written in C.

A run arrives; a process that has been given all partitions leaves.
Its producer gathers outputs for 5 ms by default, which real-time mode is set not to do.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

from examples.benchmarks.harness.engine import Engine, Run
from examples.benchmarks.other_engines.engine import Peer, supervised
from examples.benchmarks.other_engines.venv import Tell, is_made, python_with

NAME = "Quix Streams"
REQUIREMENTS = ("quixstreams==3.28.1",)
JOB = Path(__file__).with_name("quix_job.py")
PROBE_SECONDS = 5.0
SETTINGS = {"auto_offset_reset": "earliest", "commit_interval": 30, "producer_extra_config": {"linger.ms": 0}}


def fetch(tell: Tell) -> None:
    """Install it."""
    if not is_made(REQUIREMENTS):
        tell(f"{NAME}: installing {', '.join(REQUIREMENTS)}, about 130 MB on disk, once")
    python_with(REQUIREMENTS, lambda line: tell(f"{NAME}: {line}"))


@contextmanager
def quix(run: Run) -> Iterator[Engine]:
    """Yield Quix Streams at work; state is in RocksDB with a changelog topic."""
    own = {
        "broker_address": run.bootstrap_servers,
        "consumer_group": run.source,
        "state_dir": str(run.folder / "state"),
    }
    names = ("source", "target", "rejected", "work")
    told = {name: getattr(run, name) for name in names} | {"settings": SETTINGS | own}
    command = [str(python_with(REQUIREMENTS)), "-I", str(JOB), json.dumps(told)]
    admin = AdminClient({"bootstrap.servers": run.bootstrap_servers})
    with supervised(NAME, command, run, lambda: _has_all_partitions(admin, run)) as engine:
        yield engine


def _has_all_partitions(admin: AdminClient, run: Run) -> bool:
    described = admin.describe_consumer_groups([run.source], request_timeout=PROBE_SECONDS)[run.source]
    try:
        group = described.result()
    except KafkaException:
        return False
    given = sum(len(member.assignment.topic_partitions) for member in group.members)
    return bool(group.state == ConsumerGroupState.STABLE) and given >= run.partitions


QUIX = Peer(NAME, REQUIREMENTS, SETTINGS, fetch, quix)
