"""The last screen: counts, money, campaigns, latencies, CPU, and the comparison of two runs."""

from dataclasses import replace

import pytest

from examples.attribution.demo.report import show_comparison, show_report
from examples.measure.cpu import Cpu
from tests.attribution.demo.reports import report


def test_the_report_shows_counts_verdict_latencies_and_pauses(capsys: pytest.CaptureFixture[str]) -> None:
    """Everything that a run has shown is on the last screen."""
    show_report(report("real-time", 12, ["result x is missing"]))

    text = capsys.readouterr().out
    for fact in (
        "filled 1, unfilled 1",
        "attributed 2, duplicate 1",
        "2 orders of 5.000001, their touches earned 5.000001",
        "2 orders compared with the rule, 1 not",
        "4 touches came too late",
        "result x is missing",
        "1 differences",
        "12",
        "pauses of 250, 90 ms",
        "4 rows in 3 commits",
        "p50 2 p99 5",
        "over-delivered: 1 impressions beyond goals of 10",
        "CPU in 60 s of the measured part: 0.90 of 2 cores (Spark 0.80, Kafka 0.10); the whole machine 1.20",
    ):
        assert fact in text
    assert ["campaign-0", "10", "11", "1", "1.10", "40", "s", "1"] in [line.split() for line in text.splitlines()]


@pytest.mark.parametrize(("own", "machine", "is_full"), [(0.9, 1.79, False), (0.9, 1.81, True), (1.81, 1.7, True)])
def test_a_full_machine_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], own: float, machine: float, is_full: bool
) -> None:
    """Whoever fills the machine, its latencies are queue lengths, and the remedy is named."""
    show_report(replace(report("real-time", 12, []), cpu=Cpu(60, 2, {"Spark": own}, machine)))

    lines = [line for line in capsys.readouterr().out.splitlines() if "more than 90%" in line]
    assert is_full == bool(lines)
    assert all("take a lower RATE" in line for line in lines)


def test_a_run_that_ended_in_its_warm_up_shows_no_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    """No number is made up for what was not measured."""
    show_report(replace(report("real-time", 12, []), cpu=None))

    assert "CPU" not in capsys.readouterr().out


def test_the_comparison_is_the_ratio_of_the_same_hop(capsys: pytest.CaptureFixture[str]) -> None:
    """Micro-batch over real-time, column by column; a latency of zero counts as one millisecond."""
    show_comparison(report("real-time", 0, []), report("micro-batch", 450, []))

    assert 4 == capsys.readouterr().out.count("450.0x")


def test_the_comparison_says_what_each_trigger_gave_away(capsys: pytest.CaptureFixture[str]) -> None:
    """One line with both numbers and their ratio, unless there was none."""
    show_comparison(report("real-time", 1, [], delivered=12), report("micro-batch", 1, [], delivered=70))
    show_comparison(report("real-time", 1, [], delivered=9), report("micro-batch", 1, [], delivered=70))

    found = [line for line in capsys.readouterr().out.splitlines() if "over-delivered" in line]
    assert [
        "over-delivered at 150 records/s: 2 impressions in real-time mode, 60 in micro-batch, 30.0x as many",
        "over-delivered at 150 records/s: 0 impressions in real-time mode, 60 in micro-batch, which no factor tells",
    ] == found
