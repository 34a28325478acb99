import signal
import subprocess
import sys

import pytest

from examples.attribution.demo.__main__ import CLUSTER_RATE, HIGH_RATE_DEFAULTS, DemoOptions, parse
from examples.attribution.demo.run import HIGH_RATE
from scripts.pack import files


def test_cluster_has_a_lower_default_rate() -> None:
    assert DemoOptions(cluster=True, rate=CLUSTER_RATE) == parse(["--cluster"])
    assert DemoOptions(cluster=True, rate=150) == parse(["--cluster", "--rate", "150"])
    assert CLUSTER_RATE < DemoOptions().rate


def test_high_rate_has_a_longer_warm_up_and_longer_intervals() -> None:
    below, high = (parse(["--rate", str(rate)]) for rate in (HIGH_RATE - 1, HIGH_RATE))

    assert DemoOptions(rate=HIGH_RATE - 1) == below
    assert DemoOptions(rate=HIGH_RATE, **HIGH_RATE_DEFAULTS) == high  # type: ignore[arg-type]  # one type per option
    assert all(getattr(high, name) > getattr(below, name) for name in HIGH_RATE_DEFAULTS)
    assert parse(["--rate", "1000", "--warm-up-seconds", "5"]).warm_up_seconds == 5


@pytest.mark.parametrize("flags", [["--publish"], ["--compare", "--trigger", "micro-batch"]])
def test_comparison_without_both_modes_is_rejected(capsys: pytest.CaptureFixture[str], flags: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(flags)

    assert "use --publish with --compare, and --compare with --trigger real-time" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["examples.attribution.demo", "spark_rtm.monitoring"])
def test_interrupt_during_the_imports_prints_no_traceback(module: str) -> None:
    """The imports take seconds, in which people press Ctrl-C."""
    command = [sys.executable, "-X", "importtime", "-m", module]
    with subprocess.Popen(command, cwd=files.ROOT, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr
        next(line for line in program.stderr if "confluent_kafka" in line)
        program.send_signal(signal.SIGINT)
        errors = program.stderr.read()

    assert -signal.SIGINT == program.returncode
    assert "Traceback" not in errors
