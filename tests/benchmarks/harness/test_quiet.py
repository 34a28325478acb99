import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from benchmarks.harness.baseline import baseline_case
from benchmarks.harness.plan import PlannedRun, plain_console, run_on_broker
from benchmarks.harness.quiet import wait_until_quiet
from benchmarks.results.record_times import Traffic


@pytest.fixture
def busy_program() -> Iterator[None]:
    # The shell ends at once, so its child belongs to another process.
    command = "yes > /dev/null 2>&1 & echo $!"
    started = subprocess.run(command, shell=True, stdout=subprocess.PIPE, text=True, check=True)
    yield
    os.kill(int(started.stdout), signal.SIGKILL)


@pytest.mark.usefixtures("busy_program")
def test_comparison_does_not_begin_beside_a_busy_program() -> None:
    with pytest.raises(RuntimeError, match=r"other programs use .* cores, .*; stop these programs and start again"):
        wait_until_quiet(plain_console(), 0.15, max_wait_seconds=0)


@pytest.mark.services
@pytest.mark.usefixtures("busy_program")
def test_disturbed_run_is_invalid(kafka: str) -> None:
    plan = [PlannedRun(baseline_case(), Traffic(500, 1, 3))]

    (result,) = run_on_broker(kafka, plan, 2, 0, plain_console(), max_foreign_cores=0.15)

    assert any(problem.startswith("other programs used") for problem in result.problems)
