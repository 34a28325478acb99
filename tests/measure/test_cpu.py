"""The CPU meter: what a child process takes is counted, also when it has ended."""

import subprocess
import sys

import pytest

from examples.measure.cpu import LOOK_SECONDS, Cpu, CpuMeter
from tests.helpers import eventually

BUSY = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\nprint('done', flush=True)\n"


def test_the_time_of_a_child_is_counted_also_after_its_end() -> None:
    """Python workers come and go; what they took until the last look stays in the sum."""
    meter = CpuMeter()
    meter.look()

    with subprocess.Popen(
        [sys.executable, "-c", BUSY.format(1.5) + "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        assert "done\n" == child.stdout.readline()
        meter.look()
        child.communicate("\n")
    before = meter.result()
    assert before
    eventually(lambda: looked_again(meter, before.seconds), 10, "a look after the end of the child")
    after = meter.result()

    assert after
    assert 1.5 == pytest.approx(before.seconds * sum(before.by_name.values()), abs=0.7)
    assert after.seconds * after.own >= before.seconds * before.own
    assert 0 < after.machine <= after.cores + 0.1


def looked_again(meter: CpuMeter, seconds: float) -> bool:
    """Look, and tell whether that was a new look."""
    meter.look()
    result = meter.result()
    return result is not None and result.seconds >= seconds + LOOK_SECONDS


def test_one_look_measures_nothing() -> None:
    """A run that ends in its warm-up has no CPU to show."""
    meter = CpuMeter()
    none = meter.result()

    meter.look()
    meter.look()  # too soon to count

    assert [None, None] == [none, meter.result()]


def test_the_parts_of_a_run_are_named() -> None:
    """A reader sees which part to blame, this process included."""
    meter = CpuMeter()
    meter.look()

    eventually(lambda: looked_again(meter, 0), 10, "a second look")

    result = meter.result()
    assert isinstance(result, Cpu)
    assert "this process" in result.by_name
