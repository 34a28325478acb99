from dataclasses import replace

import pytest

from benchmarks.harness.run import run_case
from benchmarks.results.record_times import Traffic
from benchmarks.spark.quick import in_session, quick_cases, shared_session
from tests.benchmarks.harness.checks import assert_all_answered


@pytest.mark.services
@pytest.mark.spark
def test_one_session_runs_one_mode_after_another(kafka: str) -> None:
    cases = {(case.engine, case.workload): case for case in quick_cases(1)}
    micro_batch, real_time = cases["micro-batch", "stateless"], cases["real-time", "stateful"]
    real_time = replace(real_time, settings={**real_time.settings, "warm_up_batches": 2})
    # Batches of one second leave time for several boundaries. On a busy machine, a run of 3 s once contained none.
    traffic = Traffic(200, warm_up_seconds=1, duration_seconds=9, drain_seconds=60)

    with shared_session() as session:
        session.wait_until_started()
        first, second = (run_case(kafka, in_session(session, case), traffic) for case in (micro_batch, real_time))

    assert_all_answered(first)
    assert_all_answered(second)
    assert (0, True) == (first.numbers["boundaries"], second.numbers["boundaries"] >= 1)
    assert second.numbers["engine_cores"] > 0
