"""Run Quix Streams with Kafka's C client. The producer's default delay of 5 ms is turned off."""

from contextlib import AbstractContextManager

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

from benchmarks.harness.engine import Engine, Run
from benchmarks.other_engines.engine import OtherEngine, Settings, job_command, python_with, running_engine

NAME, PYTHON = "Quix Streams", ("quix", "quixstreams==3.28.1")
PROBE_SECONDS = 5.0
SETTINGS = {"auto_offset_reset": "earliest", "producer_extra_config": {"linger.ms": 0}}


def quix(settings: Settings, run: Run) -> AbstractContextManager[Engine]:
    """Start Quix Streams with its state in RocksDB and a changelog topic."""
    run_settings = {
        "broker_address": run.bootstrap_servers,
        "consumer_group": run.source,
        "state_dir": str(run.folder / "state"),
    }
    command = job_command(*PYTHON, run, {**settings, **run_settings})
    admin = AdminClient({"bootstrap.servers": run.bootstrap_servers})
    return running_engine(NAME, command, run, lambda: _has_all_partitions(admin, run))


def _has_all_partitions(admin: AdminClient, run: Run) -> bool:
    described = admin.describe_consumer_groups([run.source], request_timeout=PROBE_SECONDS)[run.source]
    try:
        group = described.result()
    except KafkaException:
        return False
    assigned = sum(len(member.assignment.topic_partitions) for member in group.members)
    return bool(group.state == ConsumerGroupState.STABLE) and assigned >= run.partitions


QUIX = OtherEngine(
    NAME, PYTHON[1:], lambda seconds: SETTINGS | {"commit_interval": seconds}, lambda: python_with(*PYTHON), quix
)
