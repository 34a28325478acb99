import signal
import subprocess
import sys

import pytest

from examples.attribution.demo.__main__ import CLUSTER_RATE, HIGH_RATE_DEFAULTS, DemoOptions, parse
from examples.attribution.demo.run import HIGH_RATE
from scripts.pack import files


def test_cluster_and_high_rate_change_the_defaults() -> None:
    assert DemoOptions(cluster=True, rate=CLUSTER_RATE) == parse(["--cluster"])
    assert DemoOptions(rate=HIGH_RATE - 1) == parse(["--rate", str(HIGH_RATE - 1)])
    high = DemoOptions(rate=HIGH_RATE, **HIGH_RATE_DEFAULTS)  # type: ignore[arg-type]  # one type per option
    assert high == parse(["--rate", str(HIGH_RATE)])


@pytest.mark.parametrize("flags", [["--publish"], ["--compare", "--trigger", "micro-batch"]])
def test_comparison_without_both_modes_is_rejected(capsys: pytest.CaptureFixture[str], flags: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(flags)

    assert (
        "--publish requires --compare, and --compare requires --trigger real-time; this run" in capsys.readouterr().err
    )


@pytest.mark.parametrize("module", ["examples.attribution.demo", "spark_rtm.monitoring"])
def test_interrupt_during_the_imports_prints_no_traceback(module: str) -> None:
    """The imports take seconds, so users may press Ctrl-C during them."""
    command = [sys.executable, "-X", "importtime", "-m", module]
    with subprocess.Popen(command, cwd=files.ROOT, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr
        next(line for line in program.stderr if "confluent_kafka" in line)
        program.send_signal(signal.SIGINT)
        errors = program.stderr.read()

    assert -signal.SIGINT == program.returncode
    assert "Traceback" not in errors
