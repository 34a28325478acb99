import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from spark_rtm.measure.cpu import SAMPLE_SECONDS, CpuMeter, OtherPrograms, name_of, other_programs, sampling
from tests.helpers import eventually

BUSY = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\nprint('done', flush=True)\n"


def test_cpu_time_of_an_ended_child_is_kept() -> None:
    """The CPU time of a Python worker stays in the sum after the worker has ended."""
    meter = CpuMeter()
    meter.sample()

    with subprocess.Popen(
        [sys.executable, "-c", BUSY.format(1.5) + "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        assert "done\n" == child.stdout.readline()
        name = name_of(psutil.Process(child.pid))
        meter.sample()
        child.communicate("\n")
    before = meter.result()
    assert before
    eventually(lambda: is_sampled_again(meter, before.seconds), 60, "a sample after the end of the child")
    after = meter.result()

    assert after
    # Servers that other tests have started in this process belong to the run, but have other names.
    assert 1.5 == pytest.approx(before.seconds * before.by_name[name], abs=0.7)
    # The products of the same whole ticks can differ in their last digit.
    assert after.seconds * after.run >= before.seconds * before.run - 0.001
    assert 0 < after.machine <= after.cores + 0.1


def is_sampled_again(meter: CpuMeter, seconds: float) -> bool:
    meter.sample()
    result = meter.result()
    return result is not None and result.seconds >= seconds + SAMPLE_SECONDS


def test_single_sample_measures_no_cpu_time() -> None:
    meter = CpuMeter()
    none = meter.result()

    meter.sample()
    meter.sample()  # too early to count

    assert [None, None] == [none, meter.result()]


def test_sampling_measures_only_the_processes_of_the_engine() -> None:
    with (
        subprocess.Popen([sys.executable, "-c", BUSY.format(1.2) + "input()"], stdin=subprocess.PIPE) as engine,
        sampling(lambda: [engine.pid]) as samples,
    ):
        eventually(lambda: len(samples.engine) >= 3 and samples.engine[-1] > 1, 60, "three samples of a busy engine")
        engine.communicate(b"\n")

    assert samples.engine[-1] - samples.engine[0] == pytest.approx(samples.engine_seconds(0, samples.at[-1]))
    assert max(samples.engine_bytes) > 1_000_000


def test_busy_program_counts_as_another_one_also_after_its_end(tmp_path: Path) -> None:
    """Programs outside this process tree count even if they end meanwhile."""
    ended, programs = tmp_path / "ended", OtherPrograms()
    # The shell ends at once, so its child belongs to another process. The child ends after it has been seen.
    waits = "import pathlib, sys\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)\n"
    seen = tmp_path / "seen"
    busy = shlex.join([sys.executable, "-c", BUSY.format(0.8) + waits, str(seen)])
    command = f"({busy}; touch {ended}; sleep 60) > /dev/null 2>&1 & echo $$"
    shell = subprocess.run(command, shell=True, stdout=subprocess.PIPE, text=True, check=True, start_new_session=True)
    used = [programs.used()]

    def has_ended() -> bool:
        used.append(programs.used())
        if used[-1] >= 0.7:
            seen.touch()
        return ended.exists()

    try:
        eventually(has_ended, 60, "the end of the other program")
    finally:
        os.killpg(int(shell.stdout), signal.SIGKILL)

    assert sorted(used) == used
    assert programs.used() >= 0.7


def test_own_processes_and_the_kernel_are_not_other_programs() -> None:
    """The parent of this process is another program; the kernel's threads and this tree are not."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        others = {process.pid for process in other_programs()}
        child.communicate(b"\n")

    assert os.getppid() in others
    assert not {os.getpid(), child.pid} & others
    assert "kthreadd" not in {
        process.info["name"] for process in psutil.process_iter(["name"]) if process.pid in others
    }
