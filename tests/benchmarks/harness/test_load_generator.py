import json
from pathlib import Path

import pytest

from benchmarks.harness.engine import fresh_run
from benchmarks.harness.load_generator import read_times, sending
from benchmarks.harness.workloads import record, transaction
from benchmarks.results.record_times import SETTLE_SECONDS, Traffic
from tests.helpers import records_of

pytestmark = pytest.mark.services


def test_load_generator_sends_the_replay_keyed_by_transaction(kafka: str, tmp_path: Path) -> None:
    with fresh_run(kafka, "stateless", 2, tmp_path) as run:
        traffic = Traffic(rate=5000, warm_up_seconds=0, duration_seconds=0.5, drain_seconds=0)
        with sending(run, traffic) as generator:
            generator.supervisor.wait(60)
            times = read_times(run, generator)
        messages = [message for partition in range(2) for message in records_of(kafka, run.source, partition)]

    expected = [(transaction(seq).encode(), record(seq).encode()) for seq in range(2500)]
    assert sorted(expected) == sorted((message.key(), message.value()) for message in messages)
    appended_ms = {json.loads(message.value() or b"")["seq"]: message.timestamp()[1] for message in messages}
    assert [appended_ms[seq] for seq in range(2500)] == times.appended_ms.tolist()
    assert all(times.sent_us >= times.due_us)
    assert 200 == pytest.approx((times.due_us[1:] - times.due_us[:-1]).mean(), rel=0.05)


def test_warm_up_at_another_rate_ends_at_the_measured_rate(kafka: str, tmp_path: Path) -> None:
    """Only the first second has the rate of the warm-up, so a queue can end before the measured part."""
    traffic = Traffic(500, warm_up_seconds=1 + SETTLE_SECONDS, duration_seconds=1, drain_seconds=0, warm_up_rate=2000)
    with fresh_run(kafka, "stateless", 1, tmp_path) as run, sending(run, traffic) as generator:
        generator.supervisor.wait(60)
        times = read_times(run, generator)

    gaps_us = times.due_us[1:] - times.due_us[:-1]
    assert (2000 + 500 * (SETTLE_SECONDS + 1), 500) == (traffic.records, times.measured(traffic).sum())
    assert {500} == set(gaps_us[:2000].tolist())
    assert {2000} == set(gaps_us[2000:].tolist())
