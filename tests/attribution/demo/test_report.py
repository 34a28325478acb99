from dataclasses import replace

import pytest

from examples.attribution.audit.latency import Latency
from examples.attribution.demo.beside import Beside
from examples.attribution.demo.report import exit_status, print_report, print_verdict
from spark_rtm.measure.cpu import Cpu
from tests.attribution.demo.reports import report


def test_verdict_names_each_run_and_ends_with_the_next_step(capsys: pytest.CaptureFixture[str]) -> None:
    decoded = Latency("kafka_to_events", 1, 2, 9, 9, 9)
    first = report("real-time", 12, [])
    first = replace(first, latencies=[decoded, *first.latencies], beside=Beside(lambda: None, [(0, 90), (25_000, 600)]))
    print_verdict([first, report("micro-batch", 1_450, ["result x is missing"])], ["next: x"])

    lines = [line.strip("│ ") for line in capsys.readouterr().out.splitlines()]
    assert [
        "real-time mode: end to end p50 12 ms, p99 12 ms, 1 impressions over-delivered",
        "0 differences from the replay of 2 results, 2 orders and 0 counts",
        "decode, at the same time: p50 2 ms in real-time mode, 600 ms in micro-batch mode (300x)",
        "micro-batch mode: end to end p50 1,450 ms, p99 1,450 ms, 1 impressions over-delivered",
        "1 differences from the replay of 2 results, 2 orders and 0 counts",
        "next: x",
    ] == lines[1:-1]


@pytest.mark.parametrize(
    ("spark_cores", "machine_cores", "is_full"), [(0.9, 1.79, False), (0.9, 1.81, True), (1.81, 1.7, True)]
)
def test_busy_machine_is_reported(
    capsys: pytest.CaptureFixture[str], spark_cores: float, machine_cores: float, is_full: bool
) -> None:
    """If this run or other programs fill the machine, the report names the remedy."""
    print_report(replace(report("real-time", 12, []), cpu=Cpu(60, 2, {"Spark": spark_cores}, machine_cores)))

    assert is_full == ("include queueing; use a lower RATE" in capsys.readouterr().out)


def test_run_without_results_is_not_reported_as_correct(capsys: pytest.CaptureFixture[str]) -> None:
    """If Ctrl-C ends a run before its first result, the report states that nothing was checked, and the status is 1."""
    empty = report("real-time", 12, [])
    empty = replace(empty, cpu=None, reconciliation=replace(empty.reconciliation, results=0))
    print_report(empty)
    assert "CPU" not in capsys.readouterr().out
    print_verdict([empty], [])

    text = capsys.readouterr().out
    assert "nothing was checked, because the run ended before its first result" in text
    assert "0 differences" not in text
    assert [1, 0] == [exit_status([each]) for each in (empty, report("real-time", 12, []))]
