import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness.engine import fresh_run
from benchmarks.harness.java_programs import echo, read_times, sending
from benchmarks.harness.run import Case, load_generator, run_case
from benchmarks.harness.workloads import record, transaction
from benchmarks.results import run_result
from benchmarks.results.run_result import RecordTimes, Traffic
from tests.benchmarks.helpers import SHORT
from tests.helpers import records_of


@pytest.mark.services
def test_load_generator_sends_replay_at_two_rates(kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records are keyed by transaction. Only the first half second has the rate of the warm-up."""
    monkeypatch.setattr(run_result, "SETTLE_SECONDS", 0.5)
    traffic = Traffic(1000, warm_up_seconds=1, duration_seconds=1, drain_seconds=0, warm_up_rate=4000)
    with fresh_run(kafka, "stateless", 2, tmp_path) as run:
        with sending(run, traffic) as generator:
            generator.supervisor.wait(60)
            times = read_times(run, generator)
        messages = [message for partition in range(2) for message in records_of(kafka, run.source, partition)]

    expected = [(transaction(seq).encode(), record(seq).encode()) for seq in range(3500)]
    assert sorted(expected) == sorted((message.key(), message.value()) for message in messages)
    appended_ms = {json.loads(message.value() or b"")["seq"]: message.timestamp()[1] for message in messages}
    assert [appended_ms[seq] for seq in range(3500)] == times.appended_ms.tolist()
    assert all(times.sent_us >= times.due_us)
    gaps_us = np.diff(times.due_us)
    assert ({250}, {1000}) == (set(gaps_us[:2000].tolist()), set(gaps_us[2000:].tolist()))
    assert (3500, 1000) == (traffic.records, times.measured(traffic).sum())


def test_rate_and_lag_of_the_load_generator_are_measured_from_due_times() -> None:
    """The last of 100 records is sent 99 ms late, so the load generator has reached half of the requested rate."""
    due_us = np.arange(100) * 1_000
    times = RecordTimes(due_us, due_us * 2, *(np.zeros(100, dtype=np.int64) for _ in range(3)))

    found = load_generator(times, Traffic(1000, warm_up_seconds=0, duration_seconds=0.1))

    assert {"achieved_share": 0.5, "lag_p50_ms": 49, "lag_p99_ms": 98, "lag_max_ms": 99} == found


@pytest.mark.services
def test_missing_and_wrong_results_make_the_run_invalid(kafka: str) -> None:
    """Only one of two partitions is copied to the target topic, including its invalid records."""
    result = run_case(
        kafka,
        Case("half echo", "stateless", lambda run: echo(replace(run, partitions=1))),
        replace(SHORT, drain_seconds=2),
    )

    numbers = result.numbers
    assert 0 < numbers["missing"] < 3000
    assert f"{numbers['missing']} records have no output" == result.problems[0]
    assert 0 < numbers["wrong"] <= 3000 // 101
    assert result.problems[1].startswith(f"{numbers['wrong']} outputs differ from the replay, for example bench-")
